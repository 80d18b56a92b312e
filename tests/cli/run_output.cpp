// What `simsgd run` prints and writes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_run_output {

using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;
using cli::without_context;

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

TEST_CASE("the breakdown of each worker and of the mean step sums to its time") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Json document = Json::parse(scratch.simsgd("run s.json --json").out);
  double sum = 0;
  for (const char* part : {"compute_s", "straggle_s", "selection_s", "factor_s", "inverse_s", "host_s",
                           "communication_exposed_s", "wait_s"})
    sum += document["metrics"][part].get<double>();
  CHECK(sum == doctest::Approx(document["metrics"]["iteration_time_mean_s"].get<double>()).epsilon(1e-12));
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

}  // namespace simsgd::test::cli_run_output
