// The full text of every warning that a result carries.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "results/document.hpp"
#include "sim/base/explain.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/scenarios/record.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_notes {

namespace {

/// What costs nothing because nobody knows it has its tests in costs.cpp.
std::vector<Note> notes_of(const Json& scenario) {
  std::vector<Note> notes = job_of(scenario).notes;
  std::erase_if(notes, [](const Note& note) { return note.about == "unknown-cost"; });
  return notes;
}

}  // namespace

TEST_CASE("no cluster that we ship has a latency of 0 between nodes") {
  int clusters = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios + "clusters")) {
    CAPTURE(entry.path().string());
    Json scenario = small_scenario();
    scenario["cluster"] = {
        {"use", entry.path().string()}, {"workers", 2}, {"placement", Json::array({0, 1})}};
    scenario["cluster"]["gpus_per_node"] = 1;
    scenario["cluster"]["nodes"] = 2;
    scenario["cluster"]["topology"] = {{"name", "star"}};
    for (const Note& note : notes_of(scenario)) CHECK(note.about != "zero-latency");
    ++clusters;
  }
  CHECK(clusters >= 12);
}

TEST_CASE("only a run tells that a schedule was for an operation that nobody performed") {
  Json scenario = small_scenario();
  scenario["network"] = {{"all_gather", "bruck"}};
  const Scenario loaded = load(scenario);
  const auto document = make_document(RunContext{}, loaded, make_job(loaded), example_record());
  CHECK(document["notes"].back() == "/network/all_gather has no effect: the run performs none");
}

TEST_CASE("a run in which nobody sends anything, and one of a worker alone") {
  const auto last_note = [](int workers, std::uint64_t period) {
    Json scenario = small_scenario();
    scenario["cluster"]["workers"] = workers;
    scenario["algorithm"] = {{"name", "local_sgd"}, {"period", period}};
    const Scenario loaded = load(scenario);
    const Job job = make_job(loaded);
    return make_document(RunContext{}, loaded, job, simulate(job, {}).record)["notes"]
        .back()
        .get<std::string>();
  };
  const std::string silent =
      "no worker sent anything: the run ends before the method's first exchange, or it has none";
  CHECK(last_note(4, 0) == silent);
  CHECK(last_note(4, 10) != silent);
  CHECK(last_note(1, 0) != silent);
}

TEST_CASE("a target that lies between two evaluations which are far apart") {
  // Met at 40 s; the evaluation before was at 30 s: up to a quarter too late. At 38 s: 5 %, which is not
  // told.
  Json scenario = small_scenario();
  scenario["learner"] = small_learner();
  scenario["target"] = {{"metric", "test_accuracy"}, {"value", 0.8}};
  scenario["record"] = {{"evaluate_every", 5}};
  const Scenario loaded = load(scenario);
  RunRecord record = example_record();
  const auto notes = [&](double before_s) {
    record.evaluations.clear();
    for (const auto& [time_s, accuracy] : {std::pair{before_s, 0.7}, {40.0, 0.9}}) {
      EvaluationPoint point;
      point.time_s = time_s;
      point.test_accuracy = accuracy;
      record.evaluations.push_back(point);
    }
    return make_document(RunContext{}, loaded, make_job(loaded), record)["notes"];
  };
  CHECK(
      notes(30).back() ==
      "time_to_target_s is when an evaluation showed the target and may be late by up to 25 %: evaluate more often to know it better");
  CHECK(notes(38).size() + 1 == notes(30).size());
}

// What a resolved scenario holds: everything.

TEST_CASE("whole numbers may be written with a point or an exponent") {
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 2e3;
  CHECK(load(scenario).resolved["stop"]["steps"].is_number_integer());
  CHECK(job_of(scenario).stop.steps == 2000);
}

// What is wrong with a value by its schema, in order.

namespace {

std::vector<Explanation> explain(const Json& schema, Json value) { return complete(schema, value); }

}  // namespace

TEST_CASE("a list that is too long, a bound from above, and a constant") {
  const Json list = {{"type", "array"}, {"maxItems", 1}};
  REQUIRE(explain(list, {1, 2}).size() == 1);
  CHECK(explain(list, {1, 2})[0].problem == "is too long");
  CHECK(explain(list, {1, 2})[0].remedy == "Give at most 1 element");
  CHECK(wanted({{"type", "number"}, {"exclusiveMaximum", 3}}) == "a number below 3");
  CHECK(wanted({{"type", {"number", "null"}}}) == "a number or null");
}

TEST_CASE(
    "what is wrong inside an object is told before what is wrong with the object, by the order of keys") {
  const Json schema = {
      {"type", "object"},
      {"properties", {{"a", {{"type", "integer"}}}, {"b", {{"type", "string"}, {"minLength", 1}}}}},
      {"required", {"c"}},
      {"additionalProperties", false}};
  const std::vector<Explanation> all = explain(schema, {{"a", "x"}, {"b", ""}, {"other", 1}});
  std::string told;
  for (const Explanation& each : all) told += each.pointer + " " + each.problem + ". " + each.remedy + "\n";
  CHECK(told ==
        "/a has the wrong type. Write a whole number\n"
        "/b is too short. Write at least 1 character\n"
        "/other is an unknown key. Valid keys here: a, b\n"
        " lacks the key \"c\". Add \"c\"\n");
}

TEST_CASE("values of keys that anybody may choose are looked at too") {
  const Json schema = {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  REQUIRE(explain(schema, {{"x", 5}, {"y", "text"}}).size() == 1);
  CHECK(explain(schema, {{"x", 5}, {"y", "text"}})[0].pointer == "/x");
}

TEST_CASE("long values are cut") {
  const std::string errors = errors_with("/network/fidelity", std::string(200, 'x'));
  CHECK(errors.find("Found: \"" + std::string(76, 'x') + "....") != std::string::npos);
}

}  // namespace simsgd::test::scenarios_notes
