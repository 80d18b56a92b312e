// The full text of every warning that a result carries.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "results/document.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/scenarios/record.hpp"

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

}  // namespace simsgd::test::scenarios_notes
