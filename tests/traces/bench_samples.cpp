// Raw samples of simsgd-measure's micro-benchmarks: the median of each campaign.
#include <doctest/doctest.h>

#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_bench_samples {

using namespace traces;

namespace {

const std::string kHead =
    "benchmark,campaign,campaign_begun_unix_s,load_1min,cores,ranks_per_core,operation,schedule,workers,nodes,bytes,sample,time_s";

// One sample of a ring of `workers` in a campaign.
std::string ring(int campaign, int workers, int sample, const std::string& time_s) {
  return "collectives," + std::to_string(campaign) + ",1700000000,0.10,2,1,all_reduce,ring," +
         std::to_string(workers) + ",1,4096," + std::to_string(sample) + "," + time_s + "\r\n";
}

}  // namespace

TEST_CASE("samples in any order become medians by point and campaign; an even number takes the mean of two") {
  const Measurements all =
      imported(kHead + "\r\n" + ring(1, 4, 1, "0.003") + ring(1, 2, 1, "7") + ring(2, 4, 1, "0.5") +
               ring(1, 4, 2, "0.001") + ring(2, 4, 2, "0.25") + ring(1, 4, 3, "0.002"));
  CHECK(all.reports[0].format == "samples");
  const std::string labels =
      "benchmark=collectives, cores=2, load_1min=0.10, ranks_per_core=1, schedule=ring\n";
  CHECK(rows_text(all) ==
        "time_s 0.002 all_reduce, 4 workers, 1 nodes, 4096 B, 3 samples, campaign 1, line 2; " + labels +
            "time_s 7 all_reduce, 2 workers, 1 nodes, 4096 B, campaign 1, line 3; " + labels +
            "time_s 0.375 all_reduce, 4 workers, 1 nodes, 4096 B, 2 samples, campaign 2, line 4; " + labels);
}

TEST_CASE("kernels have no operation and no bytes; labels are their shapes") {
  const Measurements all =
      imported(kHead + ",kernel,rows\r\ncompute,1,1700000000,,2,0.5,,,1,1,,1,2e-6,gemm,64\r\n");
  CHECK(rows_text(all) ==
        "time_s 2e-06, 1 workers, 1 nodes, campaign 1, line 2; benchmark=compute, cores=2, kernel=gemm, "
        "ranks_per_core=0.5, rows=64\n");
}

TEST_CASE("what is no sample is counted: no time, other columns, a size that is none, a row that is cut") {
  const Measurements all =
      imported(kHead + "\r\n" + ring(1, 2, 1, "-1") + ring(1, 2, 2, "0") + ring(1, 2, 3, "nan") +
               ring(1, 2, 4, "1e-3") +
               "network,1,1700000000,0.10,2,1,ping_pong,,2,2,much,1,1e-3\r\n"
               "network,1,1700000000,0.10,2,1,ping_pong,,2,2,much,2,1e-3\r\nnetwork,1,17");
  REQUIRE(all.rows.size() == 1);
  CHECK(all.rows[0].samples == 1);
  CHECK(
      ignored(all) ==
      "1 rows that do not have the header's columns; 2 samples whose size or ranks cannot be read; 3 samples whose time_s is no time above 0");
}

TEST_CASE("a header without what a sample needs") {
  CHECK(import_errors("benchmark,campaign,campaign_begun_unix_s,bytes,bytes\r\n") ==
        "f: has two columns of one name. Found: bytes. Keep one of them.\n"
        "f: has no column sample. Keep the columns that simsgd-measure writes.\n"
        "f: has no column time_s. Keep the columns that simsgd-measure writes.\n");
}

}  // namespace simsgd::test::traces_bench_samples
