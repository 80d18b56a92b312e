// What a run gave before its machine was made general (issue 9) it gives today: the metrics of every
// committed scenario (of a study, its first point) and of the small scenarios in recorded_runs.json are those
// in recorded.json, to 1e-12 relative. A run may have metrics that were not recorded, and lacks none that
// was. What moves on purpose is told here, in `kExceptions`, with its reason. SIMSGD_WRITE_RECORDED=1 writes
// recorded.json anew: only in a commit that says why, and for a run that is added.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "algorithms/plugin.hpp"
#include "results/document.hpp"
#include "scenarios/language/json_source.hpp"
#include "tests/results/committed_scenarios.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/contents.hpp"
#include "topologies/topology.hpp"

namespace simsgd::test::results_recorded {

namespace {

constexpr int kSteps = 12;  // of a committed scenario: wagma's period is 10
constexpr double kRelative = 1e-12;
constexpr double kAbsolute = 1e-13;  // of what is a small difference of seconds

/// A metric that is not what it was, in runs whose name begins so.
struct Exception {
  const char *run, *metric, *reason;
};
const std::vector<Exception> kExceptions = {};

/// Metrics that have another name than when they were recorded.
const std::map<std::string, std::string> kRenamed = {
    {"gradient_communication_not_hidden_s", "gradient_communication_overhead_s"},
    {"model_communication_not_hidden_s", "model_communication_overhead_s"},
    {"factor_communication_not_hidden_s", "factor_communication_overhead_s"},
    {"inverse_communication_not_hidden_s", "inverse_communication_overhead_s"},
    {"control_communication_not_hidden_s", "control_communication_overhead_s"}};

std::string source(const char* name) { return std::string(SIMSGD_SOURCE_DIR "/tests/results/") + name; }

Json read(const char* name) { return parse_json(contents(source(name)), name); }

/// The metrics of every run, by its name.
std::map<std::string, OrderedJson> run_all() {
  std::map<std::string, OrderedJson> all;
  for (const std::filesystem::path& path : committed_scenarios()) {
    const std::string name = path.lexically_relative(SIMSGD_SOURCE_DIR).string();
    CAPTURE(name);
    all[name] = short_run(path, kSteps)["metrics"];
  }
  const Json small = read("recorded_runs.json");
  for (const auto& [name, patch] : small["runs"].items()) {
    CAPTURE(name);
    Json scenario = small["base"];
    scenario.merge_patch(patch);
    all[name] = document_of(load(scenario))["metrics"];
  }
  return all;
}

/// The names of the metrics once, then a line for each run with their values, null for what it has not.
void write_recorded(const std::map<std::string, OrderedJson>& all) {
  std::vector<std::string> metrics;
  std::set<std::string> known;
  for (const auto& [name, values] : all)
    for (const auto& metric : values.items())
      if (known.insert(metric.key()).second) metrics.push_back(metric.key());
  std::vector<std::string> recorded = metrics;  // a metric keeps the name that it was recorded with
  for (std::string& name : recorded)
    for (const auto& [old, now] : kRenamed)
      if (name == now) name = old;
  std::ofstream file(source("recorded.json"));
  file << "{\n\"metrics\": " << OrderedJson(recorded).dump() << ",\n\"runs\": {\n";
  const char* separator = "";
  for (const auto& [name, values] : all) {
    OrderedJson line;
    for (const std::string& metric : metrics) line.push_back(values.value(metric, OrderedJson()));
    file << separator << OrderedJson(name).dump() << ": " << line.dump();
    separator = ",\n";
  }
  file << "\n}\n}\n";
}

bool same(double recorded, double today) {
  const double difference = std::abs(recorded - today);
  return difference <= kRelative * std::max(std::abs(recorded), std::abs(today)) || difference <= kAbsolute;
}

bool excepted(const std::string& run, const std::string& metric) {
  return std::any_of(kExceptions.begin(), kExceptions.end(), [&](const Exception& exception) {
    return run.starts_with(exception.run) && metric == exception.metric;
  });
}

}  // namespace

TEST_CASE("the metrics of every committed scenario, algorithm, topology and fidelity are the recorded ones") {
  if (context_of("simsgd").build_type != "Release") {
    MESSAGE("SKIPPED: other builds contract floating-point operations in another way");
    return;
  }
  const std::map<std::string, OrderedJson> today = run_all();
  if (std::getenv("SIMSGD_WRITE_RECORDED") != nullptr) write_recorded(today);
  const Json recorded = read("recorded.json");
  const Json& metrics = recorded["metrics"];
  for (const auto& [run, values] : recorded["runs"].items()) {
    CAPTURE(run);
    REQUIRE(today.contains(run));
    REQUIRE(values.size() == metrics.size());
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (values[i].is_null()) continue;
      const std::string name = metrics[i].get<std::string>();
      if (excepted(run, name)) continue;
      const auto renamed = kRenamed.find(name);
      const std::string& metric = renamed == kRenamed.end() ? name : renamed->second;
      CAPTURE(metric);
      REQUIRE(today.at(run).contains(metric));
      const double then = values[i].get<double>(), now = today.at(run)[metric].get<double>();
      const bool equal = same(then, now);
      CHECK_MESSAGE(equal, fmt::format("{}: {} was {}, is {}", run, metric, then, now));
    }
  }
  for (const auto& [run, values] : today) {
    const bool known = recorded["runs"].contains(run);
    CHECK_MESSAGE(known, run << " is not recorded: run this test with SIMSGD_WRITE_RECORDED=1");
  }
}

TEST_CASE("every algorithm, topology and fidelity is in a recorded run") {
  const Json small = read("recorded_runs.json");
  std::set<std::string> algorithms, topologies, fidelities;
  for (const auto& [name, patch] : small["runs"].items()) {
    Json scenario = small["base"];
    scenario.merge_patch(patch);
    algorithms.insert(scenario["algorithm"]["name"].get<std::string>());
    topologies.insert(scenario.value("/cluster/topology/name"_json_pointer, "star"));
    fidelities.insert(scenario.value("/network/fidelity"_json_pointer, "auto"));
  }
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    const bool there = algorithms.contains(plugin.info.name);
    CHECK_MESSAGE(there, plugin.info.name << ": give it a run in tests/results/recorded_runs.json");
  }
  for (const TopologyPlugin& plugin : topology_plugins()) {
    const bool there = topologies.contains(plugin.info.name);
    CHECK_MESSAGE(there, plugin.info.name << ": give it a run in tests/results/recorded_runs.json");
  }
  CHECK(fidelities == std::set<std::string>{"auto", "closed", "steps", "flows", "messages"});
}

}  // namespace simsgd::test::results_recorded
