// What algorithms say that they book and send is what they book and send: over the recorded small runs
// (tests/results/recorded_runs.json), of which every algorithm has one, and most of them several.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/plugin.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/record.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_declarations {

namespace {

/// What runs of an algorithm do, by names.
struct Seen {
  std::set<std::string> activities, traffic;
};

/// The scenarios that differ from the base in nothing but the algorithm and what it needs, by algorithm.
std::map<std::string, std::vector<Json>> scenarios_by_algorithm() {
  const std::string file = SIMSGD_SOURCE_DIR "/tests/results/recorded_runs.json";
  const Json small = parse_json(contents(file), file);
  std::map<std::string, std::vector<Json>> all;
  for (const auto& [name, patch] : small["runs"].items()) {
    if (!patch.contains("algorithm") || name.find(':') != std::string::npos) continue;
    Json scenario = small["base"];
    scenario.merge_patch(patch);
    for (const char* section : {"cluster", "workload"})
      if (scenario[section].is_object() && scenario[section].contains("use"))
        scenario[section]["use"] =
            SIMSGD_SOURCE_DIR "/scenarios/" + scenario[section]["use"].get<std::string>();
    all[scenario["algorithm"]["name"].get<std::string>()].push_back(std::move(scenario));
  }
  return all;
}

/// Whether somebody booked each activity, then whether somebody sent each kind of traffic.
std::vector<double> done_in(const Json& scenario) {
  std::vector<double> done(kActivities + kTraffics, 0.0);
  for (const WorkerRecord& worker : simulate_job(job_of(scenario)).workers) {
    for (std::size_t i = 0; i < kActivities; ++i) done[i] += worker.activity_s[i];
    for (std::size_t i = 0; i < kTraffics; ++i)
      done[kActivities + i] += worker.bytes_sent[i] + worker.communication_s[i] + worker.exposed_s[i];
  }
  return done;
}

std::string listed(const std::set<std::string>& names) { return Json(names).dump(); }

Seen seen_in(const std::vector<Json>& scenarios) {
  Seen seen;
  for (const Json& scenario : scenarios) {
    CAPTURE(scenario["algorithm"].dump());
    const std::vector<double> done = done_in(scenario);
    for (const ActivityInfo& each : activities())
      if (!each.of_every_method && done[static_cast<std::size_t>(each.activity)] > 0)
        seen.activities.insert(each.name);
    for (const TrafficInfo& each : traffics())
      if (done[kActivities + static_cast<std::size_t>(each.traffic)] > 0) seen.traffic.insert(each.name);
  }
  return seen;
}

}  // namespace

TEST_CASE("algorithms book the activities and send the kinds of traffic that they declare, and no others") {
  const std::map<std::string, std::vector<Json>> scenarios = scenarios_by_algorithm();
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    CAPTURE(plugin.info.name);
    const auto mine = scenarios.find(plugin.info.name);
    if (mine == scenarios.end()) {
      FAIL_CHECK(plugin.info.name << ": give it a run in tests/results/recorded_runs.json");
      continue;
    }
    const Seen seen = seen_in(mine->second);
    std::set<std::string> activities, traffic;
    for (const Activity each : plugin.uses.activities) activities.insert(activity_name(each));
    for (const Traffic each : plugin.uses.sends) traffic.insert(traffic_name(each));
    CHECK(listed(seen.activities) == listed(activities));
    CHECK(listed(seen.traffic) == listed(traffic));
  }
}

TEST_CASE("nobody declares what every method does") {
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    CAPTURE(plugin.info.name);
    for (const Activity each : plugin.uses.activities)
      CHECK(!activities()[static_cast<std::size_t>(each)].of_every_method);
  }
}

TEST_CASE("simsgd list says what an algorithm sends and what it does of its own") {
  const cli::Scratch scratch;
  const std::string text = scratch.simsgd("list algorithms powersgd").out;
  CHECK(text.find("\n  Kinds of traffic: gradient\n  Also spends time on: factor_s\n") != std::string::npos);
  CHECK(scratch.simsgd("list algorithms local_sgd").out.find("of its own") == std::string::npos);
  const Json json = Json::parse(scratch.simsgd("list algorithms wagma --json").out);
  CHECK(json[0]["uses"] == Json({{"traffic", Json::array({"model"})}, {"activities", Json::array()}}));
}

}  // namespace simsgd::test::algorithms_declarations
