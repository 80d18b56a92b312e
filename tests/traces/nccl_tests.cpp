// nccl-tests' text and JSON, line by line as the program prints them.
#include <doctest/doctest.h>

#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_nccl_tests {

using namespace traces;

namespace {

const std::string kNew =
    "# nccl-tests version 2.17.6 nccl-headers=22707 nccl-library=22707\n"
    "# Collective test starting: all_gather_perf\n"
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   1111 on     hostA device  0 [0000:07:00] NVIDIA H100\n"
    "#  Rank  1 Group  0 Pid   1112 on     hostA device  1 [0000:0a:00] NVIDIA H100\n"
    "#  Rank  2 Group  0 Pid   2222 on     hostB device  0 [0000:07:00] NVIDIA H100\n"
    "#  Rank  3 Group  0 Pid   2223 on     hostB device  1 [0000:0a:00] NVIDIA H100\n"
    "hostA:1111:1111 [0] NCCL INFO Bootstrap : Using eth0\n"
    "#\n"
    "#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
    "        1024            64     float    none      -1    10.24    0.10    0.08      0    20.48    0.05    0.04      0\n"
    "        2048           128     float    none      -1    10.24    0.20    0.15      0    N/A       N/A     N/A    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 0.1 \n"
    "#\n";

std::string prefixed(const std::string& text, const std::string& prefix) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    all += prefix + text.substr(at, end - at);
    at = end;
  }
  return all;
}

}  // namespace

TEST_CASE("a row of nccl-tests is a time out of place and one in place, with what the comments tell") {
  const Measurements all = imported(kNew);
  CHECK(
      rows_text(all) ==
      "time_s 1.024e-05 all_gather, 4 workers, 2 nodes, 1024 B, 20 samples, line 15; placement=out_of_place, type=float\n"
      "time_s 2.048e-05 all_gather, 4 workers, 2 nodes, 1024 B, 20 samples, line 15; placement=in_place, type=float\n"
      "time_s 1.024e-05 all_gather, 4 workers, 2 nodes, 2048 B, 20 samples, line 16; placement=out_of_place, type=float\n");
  CHECK(all.rows.at(0).source == "f");
  CHECK(all.reports.at(0).rows == 3);
  CHECK(all.reports.at(0).format == "nccl_tests");
  CHECK(ignored(all).empty());
  CHECK(understood(all) ==
        "4 lines of devices; 1 messages of NCCL; 10 other comments; 1 tables; 1 times that are N/A");
}

TEST_CASE("what names the process is no part of a line") {
  for (const char* prefix : {"[1,0]<stdout>:", "[1,12]<stderr>:", "0: ", " 3: "}) {
    CAPTURE(prefix);
    const Measurements all = imported(prefixed(kNew, prefix));
    REQUIRE(all.rows.size() == 3);
    CHECK(all.rows[0].workers == 4);
    CHECK(all.rows[0].value == doctest::Approx(10.24e-6).epsilon(1e-15));
    CHECK(ignored(all).empty());
  }
}

TEST_CASE("old tables have an error instead of #wrong and no root; columns go by their names") {
  const Measurements all = imported(
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 7 validation: 1 \n"
      "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
      "           8             2     float     sum    31.44    0.00    0.00  1e-07    32.30    0.00    0.00  1e-07\n",
      with("workers", "2"));
  CHECK(rows_text(all) ==  // of two ranks any operation: the bandwidths are the same
        "time_s 3.144e-05, 2 workers, 8 B, 7 samples, line 4; placement=out_of_place, redop=sum, type=float\n"
        "time_s 3.23e-05, 2 workers, 8 B, 7 samples, line 4; placement=in_place, redop=sum, type=float\n");
  CHECK(ignored(all) == "1 tables that do not tell their operation: set it");
}

TEST_CASE("spread columns of newer versions give the deviation: i_cv% of 5 of 100 us is 5 us") {
  const Measurements all = imported(
      "# simsgd all_reduce on x: 4 ranks\n"
      "# size(B) count type redop root time(ms) algbw(GB/s) busbw(GB/s) #wrong i_min i_max i_p99 i_cv%\n"
      "1000 250 float sum -1 0.1 0.01 0.01 0 1 2 3 5\n");
  REQUIRE(all.rows.size() == 1);
  CHECK(all.rows[0].value == 1e-4);
  CHECK(all.rows[0].deviation == doctest::Approx(5e-6).epsilon(1e-12));
}

TEST_CASE("several runs in one file have their own ranks and operations") {
  std::string second = kNew;
  second.replace(second.find("all_gather"), 10, "broadcast");
  const std::size_t rank = second.find("#  Rank  2"), end = second.find("hostA:1111");
  second.erase(rank, end - rank);
  const Measurements all = imported(kNew + second);
  REQUIRE(all.rows.size() == 6);
  CHECK(all.rows[0].operation == "all_gather");
  CHECK(all.rows[3].operation == "broadcast");
  CHECK(all.rows[3].workers == 2);
  CHECK(all.rows[3].nodes == 1);
  CHECK(all.reports[0].understood.at("tables") == 2);
}

TEST_CASE("an all-reduce shows in busbw / algbw = 2 (n-1)/n where the log does not name it; others do not") {
  const auto log = [](const char* busbw) {
    return std::string("#   Rank  0 Pid 1 on a device 0 x\n#   Rank  1 Pid 1 on a device 1 x\n") +
           "#   Rank  2 Pid 1 on a device 2 x\n#   Rank  3 Pid 1 on a device 3 x\n" +
           "# size(B) count type redop time(us) algbw(GB/s) busbw(GB/s) #wrong\n" +
           "1000000 250000 float sum 100 10.00 " + busbw + " 0\n";
  };
  CHECK(imported(log("15.00")).rows.at(0).operation == "all_reduce");  // 2 x 3/4
  CHECK(imported(log("7.50")).rows.at(0).operation.empty());
  CHECK(imported(log("7.50"), with("operation", "reduce_scatter")).rows.at(0).operation == "reduce_scatter");
}

TEST_CASE("what is set never replaces what the file tells, and that is counted") {
  const Measurements all = imported(kNew, with("operation", "all_reduce"));
  CHECK(all.rows.at(0).operation == "all_gather");
  CHECK(ignored(all) == "3 values of operation that were set: rows tell another, which stays");
}

TEST_CASE("bandwidths are computed again; a row that contradicts itself is counted") {
  std::string log = kNew;
  log.replace(log.find("10.24    0.10"), 13, "10.24    0.30");
  const Measurements all = imported(log);
  CHECK(all.rows.size() == 3);
  CHECK(ignored(all) == "1 algbw that size / time contradicts");
}

TEST_CASE("rows that cannot be read are counted by reason, and the others stay") {
  const Measurements all = imported(
      kNew +
      "        1024            64     float    none      -1    10.24\n"
      "  99999999999999999999  64     float    none      -1    10.24    0.10    0.08      0    20.48    0.05    0.04      0\n"
      "        4096            64     float    none      -1    -3.00    0.10    0.08      0     0.00    0.05    0.04      7\n"
      "        4096            64     float    none      -1    10.24    0.40    0.30      7    20.48    0.20    0.15      0\n"
      "        4096            64     float    none      -1    1e999    0.40    0.30      0    20.48    0.20    0.15      0\n"
      "Segmentation fault (core dumped)\n");
  CHECK(all.rows.size() == 5);
  CHECK(
      ignored(all) ==
      "3 algbw that size / time contradicts; 1 lines that belong to no table; 1 negative times, sizes or rates; 1 operations with wrong results; 1 rows that do not have the header's columns; 2 sizes of 2^63 bytes or more; 1 times of 0; 1 times that are no number");
  CHECK(understood(all).find("1 points that were measured before") != std::string::npos);
}

TEST_CASE("a table without units is not guessed at") {
  CHECK(import_errors("# size count type time algbw busbw\n8 2 float 31.44 0.00 0.00\n") ==
        "f: holds no measurement that can be used (nccl_tests). Left out: 1 rows of tables without units.\n");
}

TEST_CASE("JSON of nccl-tests: participants, operation and halves") {
  const std::string json =
      R"({"version": 1, "args": ["./build/reduce_scatter_perf", "-J", "x"], "env": {}, "nccl_version": 22707,
    "config": {"iters": 20},
    "devices": [{"rank": 0, "hostname": "a"}, {"rank": 1, "hostname": "b"}],
    "results": [
      {"size": 4096, "count": 512, "type": "float", "redop": "sum", "root": -1,
       "out_of_place": {"time": 40.96, "alg_bw": 0.1, "bus_bw": 0.05, "nwrong": 0},
       "in_place": {"time": 81.92, "alg_bw": 0.05, "bus_bw": 0.025, "nwrong": "N/A"}},
      {"count": 3},
      {"size": 8192, "out_of_place": {"time": 1, "alg_bw": 1, "nwrong": 3}, "in_place": {"time": "N/A"}}]})";
  const Measurements all = imported(json);
  CHECK(
      rows_text(all) ==
      "time_s 4.096e-05 reduce_scatter, 2 workers, 2 nodes, 4096 B, 20 samples; placement=out_of_place, redop=sum, type=float\n"
      "time_s 8.192e-05 reduce_scatter, 2 workers, 2 nodes, 4096 B, 20 samples; placement=in_place, redop=sum, type=float\n");
  CHECK(ignored(all) == "1 operations with wrong results; 1 results without a size");
  CHECK(understood(all) == "1 tables; 1 times that are N/A");
}

}  // namespace simsgd::test::traces_nccl_tests
