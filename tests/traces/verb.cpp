// simsgd import: table and document, what is said on stderr, exit codes, nothing written where anything is
// wrong.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <filesystem>

#include "tests/cli/scratch.hpp"
#include "tests/traces/imports.hpp"
#include "tests/traces/kineto_trace.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/reading/json.hpp"

namespace simsgd::test::traces_verb {

using namespace cli;
using cli::Outcome;

namespace {

const char* const kLog =
    "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n4   2.50\nnoise\n8   3.00\n";

}  // namespace

TEST_CASE("import -o writes the same table, and reads it again; --json is one document") {
  const Scratch scratch;
  scratch.write("a.log", kLog);
  CHECK(scratch.simsgd("import a.log -o data.csv").code == 0);
  const Outcome again = scratch.simsgd("import data.csv");
  CHECK(again.out == contents(scratch.path() / "data.csv"));
  const Outcome piped = scratch.simsgd("import - --json < a.log");
  const nlohmann::json document = nlohmann::json::parse(piped.out);
  CHECK(document["schema_version"] == 1);
  CHECK(document["rows"].size() == 2);
  CHECK(document["rows"][1]["value_SI"] == 3e-6);
  CHECK(document["rows"][1]["source"] == "<stdin>");
  CHECK(document["files"][0]["ignored"]["lines outside of tables"] == 1);
}

TEST_CASE("import reads what simsgd writes itself: a run, runs of a sweep, and both forms of bench") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome run = scratch.simsgd("run s.json --json --set /stop/steps=4");
  REQUIRE(run.code == 0);
  const auto document = nlohmann::ordered_json::parse(run.out);
  scratch.write("run.json", run.out);
  scratch.write("lines.jsonl", document.dump() + "\n" + R"({"sweep": {}})" + "\n" +
                                   nlohmann::ordered_json{{"run", {{"document", document}}}}.dump() + "\n" +
                                   R"({"run": {"status": "failed", "document": null}})" +
                                   "\n{\"run\": {\"st");
  const Outcome outcome = scratch.simsgd("import run.json lines.jsonl --json");
  REQUIRE(outcome.code == 0);
  const nlohmann::json all = nlohmann::json::parse(outcome.out);
  REQUIRE(all["rows"].size() == 6);
  CHECK(all["rows"][1]["quantity"] == "iteration_time_mean_s");
  CHECK(all["rows"][1]["value_SI"].get<double>() ==
        document["metrics"]["iteration_time_mean_s"].get<double>());
  CHECK(all["rows"][1]["workers"] == 4);
  CHECK(all["rows"][1]["labels"]["algorithm"] == "local_sgd");
  CHECK(all["rows"][1]["labels"]["workload"] == "resnet20");
  CHECK(all["files"][1]["understood"]["runs that failed"] == 1);
  CHECK(all["files"][1]["understood"]["truncated last lines"] == 1);
  CHECK(all["files"][1]["ignored"].empty());

  scratch.write("b.txt", scratch.simsgd("bench all_gather -b 1M -e 4M -f 2 --workers 4").out);
  scratch.write("b.json", scratch.simsgd("bench all_gather -b 1M -e 4M -f 2 --workers 4 --json").out);
  const nlohmann::json bench = nlohmann::json::parse(scratch.simsgd("import b.txt b.json --json").out);
  REQUIRE(bench["rows"].size() == 12);
  for (std::size_t i = 0; i < 6; ++i) {  // four digits in the text
    CHECK(bench["rows"][i]["value_SI"].get<double>() ==
          doctest::Approx(bench["rows"][i + 6]["value_SI"].get<double>()).epsilon(1e-3));
    CHECK(bench["rows"][i]["operation"] == "all_gather");
    CHECK(bench["rows"][i]["workers"] == 4);
  }
}

TEST_CASE("a network that is imported runs; run --chakra writes a file per rank, which is the same network") {
  const Scratch scratch;
  scratch.write(
      "net.graph.txt",
      "node1 -- Conv2d(3, 4, kernel_size=(3, 3), bias=False) -- forward_compute_time=2.0, backward_compute_time=3.0, activation_size=16, parameter_size=432\n"
      "node2 -- Linear(in_features=6, out_features=10, bias=True) -- forward_compute_time=0.5, backward_compute_time=1.0, activation_size=80, parameter_size=280\n\tnode1 -- node2\n");
  REQUIRE(scratch.simsgd("import net.graph.txt --workload w.json").code == 0);
  scratch.write("s.json", R"({"name": "a job/1", "cluster": {"use": "clusters/gtopk-1gbe.json", "workers": 2},
      "workload": {"use": "w.json"}, "learner": null, "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 2}})");
  const Outcome run = scratch.simsgd("run s.json --chakra traces --json");
  REQUIRE(run.code == 0);
  CHECK(run.err.find("chakra    traces/a_job_1.RANK.et: the first 2 steps of 2 ranks\n") !=
        std::string::npos);
  const auto metrics = nlohmann::json::parse(run.out)["metrics"];
  CHECK(metrics["compute_s"].get<double>() == doctest::Approx(6.5e-3).epsilon(1e-9));
  const Outcome back = scratch.simsgd("import traces/a_job_1.0.et traces/a_job_1.1.et --workload w2.json");
  REQUIRE(back.code == 0);
  const auto first = nlohmann::json::parse(contents(scratch.path() / "w.json"));
  const auto second = nlohmann::json::parse(contents(scratch.path() / "w2.json"));
  CHECK(second["batch"] == 2);
  REQUIRE(second["layers"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(second["layers"][i]["tensors"] == first["layers"][i]["tensors"]);
    CHECK(second["layers"][i]["backward"].get<double>() ==
          doctest::Approx(first["layers"][i]["backward"].get<double>()).epsilon(1e-9));
  }
  const Outcome refused = scratch.simsgd(
      "run s.json --chakra other --set '/algorithm={\"name\": \"d_psgd\", \"graph\": {\"name\": \"ring\"}}'");
  CHECK(refused.code == 1);
  CHECK(refused.err.find("This job cannot be written as Chakra traces: ") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "other"));
}

TEST_CASE(
    "a trace's own step comes out of its workload on its own device; on others it is scaled, and said, or refused") {
  const Scratch scratch;
  // 2 ms: a product takes 0.9 ms in all, and the host does not keep up.
  traces_kineto::Trace trace;
  for (int step = 5; step < 8; ++step) {
    const double at = 2000.0 * step;
    trace.step(step, at, 2000);
    trace.op("aten::linear", at + 10, 5, step, "1", "[[32, 1000], [500, 1000], [500]]");
    trace.kernel("gemm", at + 12, at + 300, 300);
    trace.op("AddmmBackward0", at + 500, 50, step, "2");
    for (const double after : {0, 400})
      trace.kernel("gemm", at + 510 + after / 100, at + 700 + after, 300, "2");
  }
  scratch.write("t.json", trace.text());
  REQUIRE(scratch.simsgd("import t.json --set 'measured_on=NVIDIA A100-SXM4-40GB' --workload w.json").code ==
          0);
  scratch.write("s.json", R"({"cluster": {"use": "clusters/a100-nvswitch-ib200.json", "workers": 1},
      "workload": {"use": "w.json"}, "learner": null, "algorithm": {"name": "allreduce_sgd"}, "stop": {"steps": 2}})");
  const auto step_s = [&](const std::string& more) {
    const Outcome outcome = scratch.simsgd("run s.json --json " + more);
    REQUIRE(outcome.code == 0);
    return nlohmann::json::parse(outcome.out)["metrics"]["iteration_time_mean_s"].get<double>();
  };
  CHECK(step_s("") == doctest::Approx(2e-3).epsilon(1e-9));
  // Half the rates: 0.9 ms more.
  const std::string slower =
      R"(--set '/cluster/device={"name": "D", "peak_flops": 78e12, "efficiency": 0.15, "memory_bandwidth": 777.5e9}')";
  CHECK(step_s(slower) == doctest::Approx(2.9e-3).epsilon(1e-9));
  const Outcome summary = scratch.simsgd("run s.json " + slower);
  CHECK(summary.out.find("were measured on A100 and are scaled to D") != std::string::npos);
  CHECK(summary.out.find("it waits for its host") != std::string::npos);
  const Outcome refused = scratch.simsgd("run s.json --set '/workload/measured_on=\"GPU X\"'");
  CHECK(refused.code == 2);
  CHECK(refused.err.find(
            "/workload/measured_on: is not the cluster's device A100, and no rate is known of both") !=
        std::string::npos);
}

TEST_CASE("where Chakra traces cannot go is said before the run, and nothing is written") {
  const Scratch scratch;
  scratch.write("s.json", R"({"name": "j", "cluster": {"use": "clusters/gtopk-1gbe.json", "workers": 2},
      "workload": {"use": "workloads/resnet50.json", "batch": 16}, "learner": null, "algorithm": {"name": "allreduce_sgd"},
      "stop": {"steps": 1000000}})");  // would take minutes
  scratch.write("file", "");
  const Outcome file = scratch.simsgd("run s.json --chakra file");
  CHECK(file.code == 2);
  CHECK(file.err.find("--chakra: cannot be written to: Not a directory. Found: file") != std::string::npos);
  std::filesystem::create_directory(scratch.path() / "used");
  scratch.write("used/j.0.et", "");  // would be replaced
  scratch.write("used/j.2.et", "");  // of a job of more ranks
  const Outcome used = scratch.simsgd("run s.json --chakra used");
  CHECK(used.code == 2);
  CHECK(used.err.find("--chakra: holds a trace of another job. Found: used/j.2.et") != std::string::npos);
  CHECK(used.err.find("j.0.et") == std::string::npos);
  CHECK(contents(scratch.path() / "used" / "j.0.et").empty());
}

// Files that are not measurements: an error with a sentence, or a count; never a crash, never silence.

using namespace traces;

namespace {

const char* const kTimes = R"({"values": [{"from": "/t", "unit": "s", "quantity": "time_s"}]})";

}  // namespace

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

}  // namespace simsgd::test::traces_verb
