// What algorithms say that they book and send is what they book and send: over the recorded small runs
// (tests/results/recorded_runs.json), of which every algorithm has one, and most of them several.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "algorithms/plugin.hpp"
#include "sim/record.hpp"
#include "tests/algorithms/recorded_scenarios.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_declarations {

namespace {

/// What runs of an algorithm do, by names.
struct Seen {
  std::set<std::string> activities, traffic;
};

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

// What an algorithm's options are where a file leaves them out.

namespace {

/// The algorithm's object with all that a job of `workers` workers on a ring gives.
Json completed(const std::string& name, int workers, Json options = Json::object()) {
  const Job job = scripted_job(star(workers, 0, 1e9), nullptr, 1000);
  const LogicalGraph ring = graph_of("ring", workers);
  find_plugin(algorithm_plugins(), name, "algorithm")
      .complete(options, {.workers = workers, .workload = &job.workload, .graph = &ring});
  return options;
}

/// An object with what has no default alone: a number or a time.
Json least_options(const AlgorithmPlugin& plugin) {
  Json form, options = Json::object();
  plugin.form(form);
  for (const Json& key : form.value("required", Json::array()))
    if (key != "name") options[key.get<std::string>()] = 1;
  return options;
}

}  // namespace

TEST_CASE(
    "every algorithm describes itself and each of its options, and completes an object without defaults") {
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    CAPTURE(plugin.info.name);
    Json form;
    plugin.form(form);
    for (const auto& [key, schema] : form["properties"].items()) {
      CAPTURE(key);
      CHECK(!schema.at("description").get<std::string>().empty());
    }
    const Json all = completed(plugin.info.name, 8, least_options(plugin));
    for (const auto& [key, value] : all.items()) CHECK(form["properties"].contains(key));
  }
}

TEST_CASE("a completed object is one that the algorithm accepts, and completes no further") {
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    CAPTURE(plugin.info.name);
    const Json once = completed(plugin.info.name, 8, least_options(plugin));
    CHECK(completed(plugin.info.name, 8, once) == once);
  }
}

TEST_CASE("WAGMA's groups are as large as the root of the workers, or the next power of two") {
  CHECK(completed("wagma", 64)["group_size"] == 8);
  CHECK(completed("wagma", 32)["group_size"] == 8);
  CHECK(completed("wagma", 1)["group_size"] == 1);
  CHECK(completed("wagma", 64, {{"group_size", 4}})["group_size"] == 4);
}

TEST_CASE("an entry of a sparse message is a value of the workload and an index of 4 bytes") {
  CHECK(completed("gtopk", 8)["bytes_per_entry"] == 8);
  CHECK(completed("topk_sgd", 8)["density"] == 0.001);
}

TEST_CASE("a density is not written beside k, nor a warm-up where there is none") {
  CHECK(!completed("gtopk", 8, {{"k", 10}}).contains("density"));
  CHECK(!completed("gtopk", 8).contains("warmup_densities"));
  CHECK(completed("gtopk", 8, {{"warmup_steps", 5}})["warmup_densities"] == Json{0.25, 0.0725, 0.015, 0.004});
}

TEST_CASE("alpha is written where weights are Laplacian: on a ring of four, 2 / (2 + 4)") {
  CHECK(!completed("d_psgd", 4).contains("alpha"));
  CHECK(completed("d_psgd", 4, {{"weights", "laplacian"}})["alpha"].get<double>() ==
        doctest::Approx(1.0 / 3).epsilon(1e-12));
}

TEST_CASE("families have defaults of their own: fusion of models and of gradients, and coupling") {
  CHECK(completed("allreduce_sgd", 8)["fusion"] == "threshold");
  CHECK(completed("d_psgd", 8)["fusion"] == "all");
  CHECK(completed("d_psgd", 8)["coupling"] == "neighbour");
  CHECK(completed("matcha", 8)["coupling"] == "global");
  CHECK(!completed("nonblocking", 8).contains("coupling"));  // depends on "over"
}

}  // namespace simsgd::test::algorithms_declarations
