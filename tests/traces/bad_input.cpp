// Files that are not measurements: an error with a sentence, or a count; never a crash, never silence.
#include <doctest/doctest.h>

#include "tests/traces/imports.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/reading/json.hpp"

namespace simsgd::test::traces_bad_input {

using namespace traces;

namespace {

const char* const kTimes = R"({"values": [{"from": "/t", "unit": "s", "quantity": "time_s"}]})";

}  // namespace

TEST_CASE("half a JSON document, bad UTF-8, numbers beyond doubles, brackets without end") {
  CHECK(import_errors(R"({"t": [1, 2)", mapped(kTimes))
            .starts_with("f: is not valid JSON, line 1, column 12: syntax error"));
  CHECK(import_errors(R"({"t": [1, 2)", mapped(kTimes))
            .ends_with("The file ends too early: copy or write it again.\n"));
  CHECK(import_errors("{\"t\": \"\xff\"}", mapped(kTimes)).ends_with("Write the text in UTF-8.\n"));
  CHECK(import_errors(R"({"t": 1e999})", mapped(kTimes)).ends_with("Write numbers below 1.8e308.\n"));
  CHECK(import_errors(std::string(100000, '['), mapped(kTimes)) ==
        "f: is nested deeper than 100 levels. Check its brackets and braces.\n");
  CHECK(import_errors(R"({"t": 99999999999999999999})", mapped(kTimes)).empty());  // a double
}

TEST_CASE("a file of more rows than memory may hold is refused; 8.4 million are taken") {
  const ImportConstants constants;
  SeenPoints seen;
  ImportedFile file("f", constants, seen);
  CHECK(file.most_rows == 8388608);
  file.most_rows = 3;
  const auto add = [&](double seconds) {
    Measurement row;
    row.quantity = "time_s";
    row.value = seconds;
    file.add(row);
  };
  for (const double seconds : {1.0, 2.0, 3.0}) add(seconds);
  add(-1);  // is counted, not kept
  CHECK_THROWS_WITH_AS(
      add(4), "f: holds more than 3 measurements. Split it into several files, and import each by itself.",
      ConfigError);
  CHECK(file.rows.size() == 3);
}

TEST_CASE("all errors of all files are told together") {
  const Files files;
  const std::string empty = files.write("empty.log", ""),
                    none = files.write("none.log", "# OSU MPI Latency Test v1\n");
  try {
    (void)import_files({empty, "/nowhere/a.log", none}, {});
    CHECK(false);
  } catch (const ConfigError& error) {
    REQUIRE(error.errors().size() == 3);
    CHECK(error.errors()[0].file == empty);
    CHECK(
        error.errors()[1].text() ==
        "/nowhere/a.log: cannot be read (No such file or directory). Check that it exists and that you may read it.");
    CHECK(error.errors()[2].file == none);
  }
}

TEST_CASE("a file that is given twice shows as points that were measured before") {
  const Files files;
  const std::string file = files.write("a.csv", "t\n1\n2\n");
  const Measurements all =
      import_files({file, file}, mapped(R"({"values": [{"from": "t", "unit": "s", "quantity": "time_s"}]})"));
  CHECK(all.rows.size() == 4);
  CHECK(counts(all.reports[0].understood) == "1 points that appear more than once; all are kept");
  CHECK(counts(all.reports[1].understood) == "2 points that appear more than once; all are kept");
}

// Every prefix of every format's sample, read as every format.
TEST_CASE("texts that stop anywhere, and are taken for another format, end in rows or in errors") {
  const std::vector<std::string> samples = {
      "quantity,operation,value_SI\r\ntime_s,x,1\r\n",
      "# simsgd all_reduce on x: 4 ranks\n# size(B) count time(us) algbw(GB/s) busbw(GB/s) #wrong\n8 2 1 2 3 0\n",
      "[1,0]<stdout>:# nThread 1 iters: 3\n[1,0]<stdout>:#   size  time\n[1,0]<stdout>:#    (B)  (us)\n8 2\n",
      "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n4    2.5\n",
      R"({"header":{"id":1,"rank":0,"n_ranks":2},"coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_msg_size_bytes":4,"coll_exec_time_us":2}})",
      R"({"nccl_version":1,"args":"a_perf","devices":[{"count":3}],"results":[{"size":4,"in_place":{"time":1,"alg_bw":2}}]})",
      R"({"distributedInfo":{"rank":0,"world_size":2},"traceEvents":[{"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce_RING_LL","ts":1,"dur":2,"args":{"In msg nelems":3,"dtype":"Float"}}]})",
      R"([{"name":"process_name","ph":"M","pid":0,"args":{"name":"t"}},{"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":1,"pid":0},{"ph":"E","ts":2,"pid":0}])",
      R"({"entries":[{"profiling_name":"nccl:all_reduce","state":"completed","duration_ms":1,"input_sizes":[[3]],"input_dtypes":["Float"]}],"pg_config":{}})",
      R"({"schema_version":1,"scenario":{"algorithm":{"name":"x"}},"metrics":{"iteration_time_mean_s":1},"workers":[{"node":0}]})"};
  int worked = 0, failed = 0;
  for (const ImportFormat& format : import_formats())
    for (const std::string& sample : samples)
      for (std::size_t length = 0; length <= sample.size(); ++length) {
        ImportOptions options;
        if (format.info.name.starts_with("mapped_")) options = mapped(kTimes);
        options.format = format.info.name;
        try {
          (void)imported(sample.substr(0, length), options);
          ++worked;
        } catch (const ConfigError&) {
          ++failed;
        }
      }
  CHECK(worked > 10);
  CHECK(failed > 1000);
}

}  // namespace simsgd::test::traces_bad_input
