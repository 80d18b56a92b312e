// NCCL Inspector's JSON lines of several processes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_nccl_inspector {

using namespace traces;

namespace {

// What rank `rank` of 2 says of operation `number`; the bandwidth is that of the whole array.
std::string line(int rank, int number, double time_us, const char* coll = "AllReduce", double bytes = 1e6,
                 const char* source = "kernel_gpu", double whole = 1e6) {
  return fmt::format(
      R"({{"header":{{"id":"0xab","rank":{},"n_ranks":2,"nnodes":1}},"metadata":{{"inspector_output_format_version":"v5.0",)"
      R"("dump_timestamp_us":1,"hostname":"a","pid":7}},"coll_perf":{{"coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},)"
      R"("coll_exec_time_us":{},"coll_timing_source":"{}","coll_algobw_gbs":{},"coll_busbw_gbs":1,"coll_algo":"RING"}}}})"
      "\n",
      rank, coll, number, bytes, time_us, source, whole / time_us / 1e3);
}

// Operations 1 to 5, which are start-up.
std::string start_up(int rank) {
  std::string text;
  for (int number = 1; number <= 5; ++number) text += line(rank, number, 1000);
  return text;
}

}  // namespace

TEST_CASE(
    "of all ranks' records the last starter's, the smallest time, is the measurement; start-up is left out") {
  const Files files;
  const std::string a = files.compress("a.log.gz", start_up(0) + line(0, 6, 80) + line(0, 7, 90));
  const std::string b =
      files.write("b.jsonl", start_up(1) + line(1, 6, 50) + line(1, 7, 95) + R"({"header":{"id":"0x)");
  const Measurements all = import_files({a, b}, {});
  CHECK(
      rows_text(all) ==
      "time_s 9e-05 all_reduce, 2 workers, 1 nodes, 1000000 B, line 7; algorithm=RING, timing_source=kernel_gpu\n"
      "time_s 5e-05 all_reduce, 2 workers, 1 nodes, 1000000 B, line 6; algorithm=RING, timing_source=kernel_gpu\n");
  CHECK(all.rows.at(0).source == a);  // operation 7
  CHECK(all.rows.at(1).source == b);
  CHECK(all.reports[1].understood.at("truncated last lines") == 1);
  std::size_t left_out = 0, stood_for = 0;
  for (const ImportReport& report : all.reports) {
    for (const auto& [kind, count] : report.understood) {
      if (kind == "first operations of a communicator, left out") left_out += count;
      if (kind == "records replaced by that of the rank that started last") stood_for += count;
    }
  }
  CHECK(left_out == 5);
  CHECK(stood_for == 7);
}

TEST_CASE("the GPU's clock is better than a smaller time by the host's") {
  const Measurements all =
      imported(start_up(0) + line(0, 6, 80) + line(1, 6, 50, "AllReduce", 1e6, "collective_cpu"));
  REQUIRE(all.rows.size() == 1);
  CHECK(all.rows[0].value == 80e-6);
}

TEST_CASE("a message of an all-gather may be one rank's part: bandwidth x time tells") {
  CHECK(imported(start_up(0) + line(0, 6, 80, "AllGather", 1e6, "kernel_gpu", 2e6)).rows.at(0).bytes == 2e6);
  CHECK(imported(start_up(0) + line(0, 6, 80, "AllGather", 1e6, "kernel_gpu", 1e6)).rows.at(0).bytes == 1e6);
}

TEST_CASE("lines that are not understood are counted, and incomplete operations are told") {
  const Measurements all = imported(start_up(0) + line(0, 6, 80) + "{\"a\": 1e999}\nnonsense\n\xff\xfe{}\n" +
                                    R"({"header":{"id":"0xab","rank":0},"p2p_perf":{"p2p":"Send"}})" + "\n" +
                                    line(0, 7, -1) + line(0, 8, 70, "Teleport"));
  CHECK(all.rows.size() == 1);
  CHECK(ignored(all) ==
        "3 lines that are not JSON objects; 2 records without a known operation, a size or a time above 0");
  CHECK(
      understood(all) ==
      "5 first operations of a communicator, left out; 1 operations that lack the records of some ranks; 1 records of messages (p2p_perf)");
}

TEST_CASE("start-up alone is not a measurement") {
  CHECK(
      import_errors(start_up(0)) ==
      "f: contains no usable measurement (nccl_inspector). Name another file, or its format with --format.\n");
}

}  // namespace simsgd::test::traces_nccl_inspector
