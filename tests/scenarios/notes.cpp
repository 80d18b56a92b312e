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

/// About what, and its text; of the small scenario: its step is modelled, which is left out.
std::vector<Note> notes_with(const std::string& pointer, const Json& value) {
  Json scenario = small_scenario();
  scenario[Json::json_pointer(pointer)] = value;
  std::vector<Note> notes = notes_of(scenario);
  std::erase_if(notes, [](const Note& note) { return note.about == "modelled-device-time"; });
  return notes;
}

using Notes = std::vector<Note>;

}  // namespace

TEST_CASE("a step that nobody measured") {
  CHECK(
      notes_of(small_scenario()) ==
      Notes{
          {"modelled-device-time",
           "no step was measured on D: it is modelled from FLOPs at 50 % of the peak and from memory traffic"}});
}

TEST_CASE("a step that was measured with another batch; not one with the same") {
  const Json measured = {{{"device", "D"}, {"batch", 8}, {"forward_backward", "1 s"}, {"source", "a test"}}};
  CHECK(notes_with("/workload/one_device", measured) == Notes{});
  Json scenario = small_scenario();
  scenario["workload"]["one_device"] = measured;
  scenario["workload"]["micro_batches"] = 4;
  CHECK(notes_of(scenario) ==
        Notes{{"extrapolated-device-time",
               "a step of 2 samples on D is taken in proportion from one measured with 8"}});
}

TEST_CASE("links of GPUs that are alone in their nodes") {
  CHECK(notes_with("/cluster/device/communication_share", 0.2) == Notes{});
  Json scenario = small_scenario();
  scenario["cluster"]["device"]["communication_share"] = 0.2;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", "900 GB/s"}};
  CHECK(
      notes_of(scenario).back() ==
      Note{
          "unused-option",
          "/cluster/device/communication_share has no effect: with one GPU per node messages cross the nic alone, and what is left of gpu_link is no less"});
}

TEST_CASE("no network has a latency of 0, where messages cross one") {
  const auto zero = [](const std::string& pointer, const Json& value) {
    Json scenario = small_scenario();
    scenario["cluster"]["nic"]["latency"] = 0;
    scenario["cluster"]["gpu_link"] = {{"bandwidth", "10 GB/s"}};
    if (!pointer.empty()) scenario[Json::json_pointer(pointer)] = value;
    const std::vector<Note> notes = notes_of(scenario);
    return std::count_if(notes.begin(), notes.end(), [](const Note& note) {
      return note.about == "zero-latency" &&
             note.text.starts_with("latency between nodes is 0 in cluster cluster, which no network has");
    });
  };
  CHECK(zero("", {}) == 1);
  CHECK(zero("/cluster/nic/latency", "1 ns") == 0);
  CHECK(zero("/cluster/gpus_per_node", 4) == 0);  // one node
  CHECK(zero("/cluster/gpus_per_node", 2) == 1);
  CHECK(zero("/cluster/placement", {0, 1, 2, 3}) == 1);
  CHECK(zero("/cluster/workers", 1) == 0);
  // A latency that is a segment's, of all sizes.
  CHECK(zero("/cluster/nic/segments", {{{"latency", "5 us"}, {"bandwidth", "1 GB/s"}}}) == 0);
}

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

TEST_CASE("a workload without layers") {
  CHECK(
      notes_with("/workload", {{"step_time", "0.13 s"}, {"parameters", 25.6e6}, {"batch", 64}}) ==
      Notes{
          {"assumed-layers",
           "the workload's step_time is the same on every device; 32 equal layers stand for the network: how much communication hides behind the backward pass depends on them (/workload/equal_layers); activations are not counted as memory"}});
}

TEST_CASE("imbalance that comes from the workload: uniform from 1 to 3 s, mean 2, deciles 1.2 and 2.8") {
  const Json times = {{"name", "uniform"}, {"minimum", 1}, {"maximum", 3}};
  CHECK(
      notes_with("/workload/compute_time", times) ==
      Notes{
          {"workload-imbalance",
           "the workload's own compute_time makes steps longer and shorter, stragglers apart: a tenth takes below 0.60 of the mean, a tenth above 1.40"}});
  CHECK(notes_with("/workload/compute_factor", times)
            .at(0)
            .text.starts_with("the workload's own compute_factor makes"));
}

TEST_CASE("micro-batches of less than a sample") {
  CHECK(notes_with("/algorithm", {{"name", "nonblocking"}, {"micro_batches", 16}}) ==
        Notes{{"batch-below-one",
               "each of the 16 micro-batches of a step has 0.5 samples of the workload, less than one"}});
}

TEST_CASE("options without effect") {
  const auto unused = [](const std::string& text) { return Notes{{"unused-option", text}}; };
  CHECK(notes_with("/optimizer", {{"name", "sgd"}, {"learning_rate", 0.5}}) ==
        unused("/optimizer has no effect: there is no learner"));
  CHECK(notes_with("/optimizer", {{"name", "adamw"}, {"beta1", 0.5}}) ==
        unused("/optimizer has no effect: there is no learner"));
  // These take memory, or time.
  CHECK(notes_with("/optimizer", {{"name", "sgd"}, {"momentum", 0.9}}) == Notes{});
  CHECK(notes_with("/optimizer", {{"name", "sgd"}, {"clip_norm", 1}}) == Notes{});
  CHECK(notes_with("/optimizer", {{"name", "adamw"}}) == Notes{});
  CHECK(notes_with("/record/evaluate_every", 5) ==
        unused("/record/evaluate_every has no effect: there is no learner"));
  CHECK(notes_with("/failures", {{"restart", "5 s"}}) ==
        unused("/failures/restart has no effect: nothing crashes"));
  CHECK(notes_with("/network", {{"slow_links", {{{"jitter_factor", 3}}}}}) ==
        unused("/network/slow_links/0/jitter_factor has no effect: /network/jitter is 0"));
  CHECK(notes_with("/stragglers", {{{"name", "constant"}, {"factor", 2}, {"from_step", 11}}}) ==
        unused("/stragglers/0 has no effect: it begins at step 11, and the run ends after 10"));
  CHECK(notes_with("/stragglers", {{{"name", "constant"}, {"factor", 2}, {"probability", 0}}}) ==
        unused("/stragglers/0 has no effect: its probability is 0"));
  CHECK(notes_with("/workload/layer_times_batch", 4) ==
        unused("/workload/layer_times_batch has no effect: no layer has a time of its own"));
  CHECK(notes_with("/workload/host_gap", {{"forward", "1 ms"}}) ==
        unused("/workload/host_gap has no effect: no layer has a time of its own"));
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

TEST_CASE("every default is there to be read") {
  const Json resolved = load(small_scenario()).resolved;
  CHECK(resolved["name"] == "s");  // of s.json
  CHECK(resolved["cluster"]["nodes"] == 4);
  CHECK(resolved["cluster"]["gpus_per_node"] == 1);
  CHECK(resolved["cluster"]["placement"] == "block");
  CHECK(resolved["cluster"]["nic"]["count"] == 1);
  CHECK(resolved["cluster"]["host"] == Json{{"overlap", 0}});  // costs have none: they are unknown
  CHECK(resolved["workload"]["micro_batches"] == 1);
  CHECK(resolved["workload"]["compute_factor"] == 1);
  CHECK(resolved["learner"].is_null());
  CHECK(resolved["optimizer"] ==
        Json{{"name", "sgd"},
             {"learning_rate", 0.1},
             {"momentum", 0},
             {"nesterov", false},
             {"weight_decay", 0},
             {"schedule", {{"name", "constant"}, {"warmup_steps", 0}, {"warmup_from", 0}}}});
  Json with_adamw = small_scenario();
  with_adamw["optimizer"] = {{"name", "adamw"}};
  CHECK(load(with_adamw).resolved["optimizer"] ==
        Json{{"name", "adamw"},
             {"learning_rate", 0.001},
             {"beta1", 0.9},
             {"beta2", 0.999},
             {"epsilon", 1e-8},
             {"weight_decay", 0.01},
             {"weight_decay_on", "all"},
             {"schedule", {{"name", "constant"}, {"warmup_steps", 0}, {"warmup_from", 0}}}});
  CHECK(resolved["stragglers"] == Json::array());
  CHECK(resolved["network"]["fidelity"] == "auto");
  CHECK(resolved["network"]["precision"] == "fp32");
  CHECK(resolved["network"]["slow_links"] == Json::array());
  CHECK(resolved["network"]["jitter"] == 0);
  CHECK(resolved["target"].is_null());
  CHECK(resolved["record"] == Json{{"evaluate_every", 0}, {"timeline_events", 100000}});
  CHECK(resolved["seed"] == 1);
  CHECK(resolved["expected"] == Json::array());
}

TEST_CASE("nodes are as many as the workers need; a cosine ends with the run") {
  Json scenario = small_scenario();
  scenario["cluster"]["gpus_per_node"] = 3;
  scenario["cluster"]["gpu_link"] = {{"bandwidth", 1e9}};
  scenario["optimizer"] = {{"name", "sgd"}, {"schedule", {{"name", "cosine"}}}};
  const Json resolved = load(scenario).resolved;
  CHECK(resolved["cluster"]["nodes"] == 2);
  CHECK(resolved["optimizer"]["schedule"]["total_steps"] == 10);
}

TEST_CASE("whole numbers may be written with a point or an exponent") {
  Json scenario = small_scenario();
  scenario["stop"]["steps"] = 2e3;
  CHECK(load(scenario).resolved["stop"]["steps"].is_number_integer());
  CHECK(job_of(scenario).stop.steps == 2000);
}

TEST_CASE("expectations are kept where their conditions hold") {
  Json scenario = small_scenario();
  const auto expectation = [](double value, const Json& when) {
    return Json{
        {"metric", "compute_s"}, {"value", value}, {"tolerance", 0.1}, {"source", "a test"}, {"when", when}};
  };
  scenario["expected"] = {expectation(1, {{"/cluster/workers", 4}}),
                          expectation(2, {{"/cluster/workers", 8}}),
                          expectation(3, {{"/cluster/workers", 8}, {"/stop/steps", 10}})};
  Json kept = load(scenario).resolved["expected"];
  REQUIRE(kept.size() == 1);
  CHECK(kept[0]["value"] == 1);
  CHECK(!kept[0].contains("when"));
  kept = load(scenario, {{{"/cluster/workers", "8"}}, {}}).resolved["expected"];
  REQUIRE(kept.size() == 2);
  CHECK(kept[1]["value"] == 3);
}

TEST_CASE("a condition may speak of the file that was used") {
  const Folder folder;
  Json cluster = small_scenario()["cluster"];
  folder.write_json("a.json", cluster);
  folder.write_json("b.json", cluster);
  Json scenario = small_scenario();
  scenario["cluster"] = {{"use", "a.json"}};
  scenario["expected"] = {{{"metric", "compute_s"},
                           {"value", 1},
                           {"tolerance", 0.1},
                           {"source", "a test"},
                           {"when", {{"/cluster/use", "a.json"}}}}};
  const std::string file = folder.write_json("s.json", scenario);
  CHECK(load_scenario(file).resolved["expected"].size() == 1);
  CHECK(load_scenario(file, {{{"/cluster/use", "b.json"}}, {}}).resolved["expected"].empty());
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
