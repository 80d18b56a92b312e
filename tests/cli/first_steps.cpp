// What a new user tries first: scenarios from pipes, one point of a study, the bench on a scenario's cluster,
// and what devices and workloads are.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_first_steps {

using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;
using cli::without_context;

TEST_CASE("a scenario may come over a pipe") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string whole = without_context(scratch.simsgd("run s.json --json").out).dump();
  for (const char* way :
       {"run <(cat s.json) --json", "run - --json < s.json", "run /dev/stdin --json < s.json"}) {
    CAPTURE(way);
    scratch.write("command", SIMSGD_BINARY_DIR "/simsgd " + std::string(way));
    const std::string command = "cd " + scratch.path().string() + " && bash command > stdout.txt";
    CHECK(std::system(command.c_str()) == 0);
    CHECK(without_context(contents(scratch.path() / "stdout.txt")).dump() == whole);
  }
}

TEST_CASE("run --point runs one point of a study, and its summary says which") {
  const Scratch scratch;
  Json study = Json::parse(kScenario);
  study["axes"] = {{{"pointer", "/algorithm/period"}, {"values", {1, 4}}}};
  scratch.write("s.json", study.dump());
  const Outcome whole = scratch.simsgd("run s.json");
  CHECK(whole.code == 2);
  CHECK(whole.err.find("or one with simsgd run --point N (0: without its axes)") != std::string::npos);
  CHECK(Json::parse(scratch.simsgd("run s.json --point 0 --json").out)["scenario"]["algorithm"]["period"] ==
        3);
  CHECK(Json::parse(scratch.simsgd("run s.json --point 2 --json").out)["scenario"]["algorithm"]["period"] ==
        4);
  CHECK(scratch.simsgd("run s.json --point 2").out.find("algorithm/period=4") != std::string::npos);
  CHECK(scratch.simsgd("run s.json --point 3").code == 2);
}

TEST_CASE("bench takes the cluster of a scenario or study, with its workers") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string options = "bench all_reduce -b 1M -e 4M -f 2 --workers 4 --cluster ";
  const Outcome of_scenario = scratch.simsgd(options + "s.json"),
                of_cluster = scratch.simsgd(options + "clusters/ethernet-1g.json");
  CHECK(of_scenario.code == 0);
  CHECK(of_scenario.out == of_cluster.out);
  CHECK(scratch.simsgd("bench all_reduce -b 1M -e 4M -f 2 --cluster s.json").out == of_scenario.out);
  CHECK(
      scratch.simsgd("bench all_reduce -b 1M -e 1M --cluster " SIMSGD_SOURCE_DIR "/scenarios/quickstart.json")
          .code == 0);
}

TEST_CASE("list shows the numbers of devices and workloads") {
  const Scratch scratch;
  const std::string device = scratch.simsgd("list devices v100").out;
  for (const char* line : {"  peak_flops: 14 TFLOPS\n", "  memory: 32 GB\n", "  efficiency: 0.44\n"}) {
    CAPTURE(line);
    CHECK(device.find(line) != std::string::npos);
  }
  // Its kernels with their laws and times: 2 x 4096^3 flop at 14 TFLOP/s x 0.8 are 12.3 ms.
  for (const char* part :
       {"  kernels, at nominal speed:\n", "    gemm: 2 m n k FLOPs at 14 TFLOP/s x 0.8", "m = n = k = 4096",
        "12.3 ms\n", "    invert: table of 6 measured times, and 20 us", "    accumulate: "}) {
    CAPTURE(part);
    CHECK(device.find(part) != std::string::npos);
  }
  const Json kernels = Json::parse(scratch.simsgd("list devices v100 --json").out)[0]["kernels"];
  REQUIRE(kernels.size() == 7);
  CHECK(kernels[0]["name"] == "gemm");
  CHECK(kernels[0]["samples"][2]["time_s"].get<double>() ==
        doctest::Approx(2 * 4096. * 4096 * 4096 / (14e12 * 0.8)));
  CHECK(kernels[0]["unknown"] == Json::array());
  const std::string workload = scratch.simsgd("list workloads resnet20").out;
  const Json json = Json::parse(scratch.simsgd("list workloads resnet20 --json").out)[0]["numbers"];
  // He et al., 2016: 0.27 million parameters for 19 convolutions, their normalisations and one dense layer.
  CHECK(json["parameters"].get<double>() == doctest::Approx(0.27e6).epsilon(0.02));
  CHECK(workload.find("  parameters: 269,722\n") != std::string::npos);
  CHECK(workload.find("  one device: ") != std::string::npos);
}

TEST_CASE("what can be installed after `./setup.sh run`, which builds little more than simsgd") {
  // simsgd-measure is installed where it is built, and is not an error where it is not.
  const std::string script = contents(SIMSGD_BINARY_DIR "/measure/cmake_install.cmake");
  const std::size_t install = script.find("file(INSTALL");
  REQUIRE(install != std::string::npos);
  CHECK(script.find("OPTIONAL", install) < script.find("simsgd-measure", install));
}

// What `simsgd run` prints and writes.

TEST_CASE("run --json prints one document on stdout and nothing else") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome outcome = scratch.simsgd("run s.json --json");
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "");
  const Json document = Json::parse(outcome.out);
  for (const char* key : {"schema_version", "context", "scenario", "metrics", "workers", "links", "series"})
    CHECK(document.contains(key));
  CHECK(document["workers"].size() == 4);
  CHECK(document["metrics"]["test_accuracy_final"].get<double>() > 0.5);
}

TEST_CASE("two runs, and runs with 1 and 2 threads, give the same bytes without context") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string first = without_context(scratch.simsgd("run s.json --json --threads 1").out).dump();
  CHECK(without_context(scratch.simsgd("run s.json --json --threads 1").out).dump() == first);
  CHECK(without_context(scratch.simsgd("run s.json --json --threads 2").out).dump() == first);
  CHECK(without_context(scratch.simsgd("run - --json --threads 2 < s.json").out).dump() == first);
  CHECK(without_context(scratch.simsgd("run s.json --json --seed 2").out).dump() != first);
}

TEST_CASE("SimGrid keeps the time as the program does") {
  const Scratch scratch;
  for (const char* settings :
       {"--set '/algorithm={\"name\":\"d_psgd\"}'", "--set '/algorithm={\"name\":\"wagma\"}'",
        "--set '/algorithm={\"name\":\"eager_sgd\"}'",
        "--set '/algorithm={\"name\":\"allreduce_sgd\"}' --set /network/fidelity=messages",
        "--set '/algorithm={\"name\":\"gtopk\"}' --set /network/fidelity=flows"}) {
    CAPTURE(settings);
    const std::string command = std::string("run " SIMSGD_SOURCE_DIR
                                            "/bench/timing_only.json --draws 0 --json "
                                            "--set /cluster/workers=16 --set /cluster/gpus_per_node=4 "
                                            "--set /stop/steps=20 ") +
                                settings;
    const Outcome own = scratch.simsgd(command), simgrid = scratch.simsgd(command + " --simgrid");
    CHECK(simgrid.err == "");
    REQUIRE(simgrid.code == 0);
    const Json times = Json::parse(own.out)["metrics"];
    CHECK(times["iteration_time_mean_s"].get<double>() > 0);
    for (const auto& [metric, value] : Json::parse(simgrid.out)["metrics"].items())
      if (value.is_number() && metric.ends_with("_s")) {
        CAPTURE(metric);
        CHECK(value.get<double>() == doctest::Approx(times[metric].get<double>()).epsilon(1e-9));
      }
  }
}

TEST_CASE("-o writes the document, the curves and a timeline that is JSON, within its bound") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome outcome = scratch.simsgd("run s.json -o out --set /record/timeline_events=200");
  CHECK(outcome.code == 0);
  CHECK(contents(scratch.path() / "out/loss.csv").starts_with("step,time_s,train_loss\n1,"));
  CHECK(contents(scratch.path() / "out/accuracy.csv").starts_with("step,time_s,test_loss,"));
  CHECK(Json::parse(contents(scratch.path() / "out/result.json")).contains("metrics"));
  const Json timeline = Json::parse(contents(scratch.path() / "out/timeline.json"));
  int spans = 0;
  for (const Json& event : timeline["traceEvents"]) spans += event["ph"] == "X" ? 1 : 0;
  CHECK(spans > 20);
  CHECK(spans <= 200);
  const Json rank1 = Json::parse(contents(scratch.path() / "out/kineto/rank1.json"));
  CHECK(rank1["distributedInfo"]["rank"] == 1);
  CHECK(rank1["distributedInfo"]["world_size"] == 4);
  for (const Json& event : rank1["traceEvents"]) CHECK(event["pid"] == 1);
}

TEST_CASE("in a timeline, an arrow leads from who came last to who waited") {
  const Scratch scratch;
  Json scenario = Json::parse(kScenario);
  scenario["learner"] = nullptr;
  scenario["cluster"] = {{"use", "clusters/infiniband-100g.json"}, {"workers", 2}, {"gpus_per_node", 1}};
  scenario["workload"] = {{"use", "workloads/resnet50.json"}, {"batch", 64}};
  scenario["algorithm"] = {{"name", "allreduce_sgd"}};
  scenario["stragglers"] = {{{"name", "constant"}, {"delay", "50 ms"}, {"workers", {1}}}};
  scenario["stop"] = {{"steps", 2}};
  scenario["record"] = {{"timeline_events", 10000}};
  scenario.erase("optimizer");
  scenario.erase("target");
  scratch.write("late.json", scenario.dump());
  const Outcome outcome = scratch.simsgd("run late.json -o out");
  REQUIRE(outcome.err == "");
  const Json trace = Json::parse(contents(scratch.path() / "out" / "timeline.json"));
  int begins = 0, ends = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("name", "") != "holds up") continue;
    begins += event["ph"] == "s" && event["pid"] == 1;
    ends += event["ph"] == "f" && event["pid"] == 0;
    CHECK(event["pid"] == (event["ph"] == "s" ? 1 : 0));
  }
  CHECK(begins >= 2);  // in each step
  CHECK(ends == begins);
}

}  // namespace simsgd::test::cli_first_steps
