// What simsgd-measure prints, and what it says when something is wrong.
#include <doctest/doctest.h>

#include <algorithm>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/measure/run_command.hpp"
#include "tests/support/contents.hpp"

namespace simsgd::test::measure_documents {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Time only: a network of 1,000 parameters that computes for 2 ms, and a straggler that is 1 ms late.
constexpr const char* kTimeOnly = R"({
  "name": "time only",
  "cluster": {"use": "clusters/infiniband-100g.json", "workers": 2, "gpus_per_node": 1},
  "workload": {"name": "tiny", "batch": 8,
               "layers": [{"type": "fc", "tensors": [600], "forward": "0.5 ms", "backward": "0.5 ms"},
                          {"type": "fc", "tensors": [400], "forward": "0.5 ms", "backward": "0.5 ms"}]},
  "learner": null,
  "algorithm": {"name": "allreduce_sgd", "fusion": "none"},
  "stragglers": [{"name": "constant", "delay": "1 ms"}],
  "stop": {"steps": 5}
})";

constexpr const char* kLearner = R"({"model": {"name": "softmax_regression"}, "batch": 8,
  "data": {"name": "gaussian_mixture", "features": 8, "classes": 4, "samples": 512, "test_samples": 64}})";

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

json document(const Ran& ran) {
  INFO(ran.errors);
  REQUIRE(ran.code == 0);
  return json::parse(ran.output);
}

/// A run of two ranks that several facts are about.
const json& run_of_two() {
  static const json real = document(run_ranks(2, SIMSGD_MEASURE_PROGRAM " run - --json", kTimeOnly));
  return real;
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> all;
  for (const auto& entry : object.items()) all.insert(entry.key());
  return all;
}

}  // namespace

TEST_CASE("a real run writes the simulation's document, with the clock \"wall\" and notes") {
  const json& real = run_of_two();
  const json simulated = document(run_command(SIMSGD_PROGRAM " run - --json", kTimeOnly));
  std::set<std::string> expected = keys(simulated);
  expected.insert("notes");
  for (const char* of_predictions : {"intervals", "uncertainty"}) expected.erase(of_predictions);
  CHECK(keys(real) == expected);
  CHECK(keys(real["metrics"]) == keys(simulated["metrics"]));
  CHECK(keys(real["workers"][0]) == keys(simulated["workers"][0]));
  CHECK(real["scenario"] == simulated["scenario"]);
  CHECK(real["context"]["program"] == "simsgd-measure");
  CHECK(real["clock"] == "wall");
  CHECK(simulated["clock"] == "simulated");
}

TEST_CASE("every second of a rank is booked: the activities add up to the time of its last step") {
  const json& real = run_of_two();
  for (const json& worker : real["workers"]) {
    CHECK(worker["steps"] == 5);
    CHECK(worker["time_s"].get<double>() == doctest::Approx(worker["end_s"].get<double>()).epsilon(1e-9));
    // Slept through, so not less: 5 steps of 2 ms of computing, with 1 ms of delay before each.
    CHECK(worker["time_by_activity"]["compute_s"].get<double>() > 0.00999);
    CHECK(worker["time_by_activity"]["straggle_s"].get<double>() > 0.00499);
    // 2 (P-1)/P m of 4,000 bytes.
    CHECK(worker["bytes_sent"]["gradient"].get<double>() == doctest::Approx(5 * 4000));
  }
}

TEST_CASE("the number of ranks is the number of workers, and standard error says so") {
  const Ran ran = run_ranks(3, SIMSGD_MEASURE_PROGRAM " run - --json", kTimeOnly);
  const json real = document(ran);
  CHECK(real["workers"].size() == 3);
  CHECK(real["scenario"]["cluster"]["workers"] == 3);
  CHECK(ran.errors.find("The scenario has 2 workers; this run has 3, one for each MPI rank.") !=
        std::string::npos);
}

TEST_CASE("without mpirun there is one rank") {
  const json real = document(run_command(SIMSGD_MEASURE_PROGRAM " run - --json", kTimeOnly));
  CHECK(real["workers"].size() == 1);
}

TEST_CASE("a run that stops by the clock counts what each rank has completed by then") {
  const auto steps = [](const std::string& arguments) {
    const json real = document(
        run_ranks(3, SIMSGD_MEASURE_PROGRAM " run - --json --set '/stop={\"time\": \"0.3 s\"}'" + arguments,
                  kTimeOnly));
    CHECK(real["metrics"]["simulated_time_s"] == 0.3);
    std::vector<int> done;
    for (const json& worker : real["workers"]) done.push_back(worker["steps"]);
    return done;
  };
  const std::vector<int> slept = steps("");
  CHECK(*std::ranges::max_element(slept) <= 100);  // of at least 3 ms each
  // Nothing is slept through, so no rank catches up with a nap that was too long: who waited longest for the
  // last exchange may end the step too late.
  const std::vector<int> at_once = steps(
      " --set /stragglers=[] --set '/workload/layers=[{\"type\": \"fc\", \"tensors\": [1000], \"forward\": \"1 ns\", \"backward\": \"1 ns\"}]'");
  const auto [least, most] = std::ranges::minmax(at_once);
  CHECK(most >= 1);
  CHECK(most - least <= 1);
}

TEST_CASE("in DIR lie the document and the curves, with units in the header") {
  const fs::path folder = fs::path(SIMSGD_BINARY_DIR) / "test_measure_files";
  fs::remove_all(folder);
  const Ran ran = run_ranks(
      2,
      SIMSGD_MEASURE_PROGRAM " run - --json -o '" + folder.string() + "' --set '/learner=" + kLearner + "'",
      kTimeOnly);
  const json printed = document(ran);
  CHECK(json::parse(contents(folder / "result.json")) == printed);
  CHECK(contents(folder / "loss.csv").starts_with("step,time_s,train_loss\n1,"));
  CHECK(contents(folder / "accuracy.csv")
            .starts_with("step,time_s,test_loss,test_accuracy,consensus_distance\n5,"));
  fs::remove_all(folder);
}

TEST_CASE("every worker and step is in steps.csv, and a run can be compared with its simulation") {
  const fs::path folder = fs::path(SIMSGD_BINARY_DIR) / "test_measure_steps";
  fs::remove_all(folder);
  const std::string arguments =
      std::string(" run - --json --steps --set /record/timeline_events=1000 --set '/learner=") + kLearner +
      "'";
  document(run_ranks(
      2, SIMSGD_MEASURE_PROGRAM + arguments + " --compute emulated -o '" + (folder / "real").string() + "'",
      kTimeOnly));
  document(
      run_command(SIMSGD_PROGRAM + arguments + " -o '" + (folder / "simulated").string() + "'", kTimeOnly));
  for (const char* run : {"real", "simulated"}) {
    CAPTURE(run);
    std::istringstream lines(contents(folder / run / "steps.csv"));
    std::string line;
    std::getline(lines, line);
    CHECK(line.starts_with(
        "worker,step,begin_s,computed_s,operation_begin_s,operation_went_s,operation_end_s,"));
    int rows = 0;
    for (; std::getline(lines, line); ++rows) {
      std::vector<double> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');)
        cells.push_back(cell.empty() || cell == "\r" ? 0.0 : std::stod(cell));
      REQUIRE(cells.size() == 18);
      CHECK(cells[0] == rows / 5);
      CHECK(cells[1] == rows % 5 + 1);
      // Begun, computed; operation begun, went, ended; end.
      for (const std::size_t i : {2U, 4U, 5U, 6U}) CHECK(cells[i] <= cells[i + 1] + 1e-9);
      double activities_s = 0;
      for (std::size_t i = 8; i < 16; ++i) activities_s += cells[i];
      CHECK(activities_s == doctest::Approx(cells[7] - cells[2]).epsilon(1e-9));
      CHECK(cells[8] > 1.8e-3);
      CHECK(cells[9] > 0.9e-3);
    }
    CHECK(rows == 10);
    CHECK(json::parse(contents(folder / run / "timeline.json"))["traceEvents"].size() > 20);
  }
  const json compared =
      document(run_command(std::string(SIMSGD_PROGRAM) + " results compare --format json '" +
                           (folder / "real").string() + "' '" + (folder / "simulated").string() + "'"));
  bool losses = false;
  for (const json& row : compared["rows"]) {
    losses = losses || row["name"] == "train_loss_greatest_difference";
    if (row["name"] == "train_loss_greatest_difference") CHECK(row["error"] == 0.0);
    // Slept through, so not less; a machine that is busy takes more.
    if (row["name"] == "compute_s") CHECK(row["real"].get<double>() > 0.98 * row["simulated"].get<double>());
  }
  CHECK(losses);
  fs::remove_all(folder);
}

TEST_CASE(
    "--schedules scenario sends the messages that are simulated: as many bytes, whichever the schedule") {
  for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"}) {
    CAPTURE(schedule);
    const std::string arguments =
        std::string(" run - --json --set /cluster/workers=3 --set /network/all_reduce=") + schedule;
    const json real =
        document(run_ranks(3, SIMSGD_MEASURE_PROGRAM + arguments + " --schedules scenario", kTimeOnly));
    const json simulated = document(run_command(SIMSGD_PROGRAM + arguments, kTimeOnly));
    double sent = 0;
    for (const json& worker : real["workers"]) sent += worker["bytes_sent"]["gradient"].get<double>();
    double expected = 0;
    for (const json& worker : simulated["workers"])
      expected += worker["bytes_sent"]["gradient"].get<double>();
    CHECK(sent == doctest::Approx(expected).epsilon(1e-9));
    CHECK(real["fidelity"][0]["reason"] == "run over MPI by the scenario's schedules, message by message");
    // The values of a learner of 36 parameters travel in the same messages: not a byte more.
    const json learns =
        document(run_ranks(3,
                           SIMSGD_MEASURE_PROGRAM + arguments +
                               " --schedules scenario --compute emulated --set '/learner=" + kLearner + "'",
                           kTimeOnly));
    double sent_learning = 0;
    for (const json& worker : learns["workers"])
      sent_learning += worker["bytes_sent"]["gradient"].get<double>();
    CHECK(sent_learning == doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE(
    "\"compute\" stands in the scenario, the option has the last word, and a document says which it was") {
  const std::string learns =
      std::string(" run - --json --set '/learner=") + kLearner + "' --set '/compute=\"emulated\"'";
  const auto computes_s = [](const json& real) {
    return real["workers"][0]["time_by_activity"]["compute_s"].get<double>();
  };
  const json emulated = document(run_ranks(2, SIMSGD_MEASURE_PROGRAM + learns, kTimeOnly));
  CHECK(emulated["scenario"]["compute"] == "emulated");
  CHECK(computes_s(emulated) > 0.00999);  // 5 steps of 2 ms
  const json real = document(run_ranks(2, SIMSGD_MEASURE_PROGRAM + learns + " --compute real", kTimeOnly));
  CHECK(real["scenario"]["compute"] == "real");
  CHECK(real["notes"].dump().find("Computing is emulated") == std::string::npos);
  CHECK(emulated["notes"].dump().find("Computing is emulated") != std::string::npos);
  // A simulation takes the workload's time: what asks for another is told so.
  const json simulated = document(run_command(SIMSGD_PROGRAM + learns, kTimeOnly));
  CHECK(simulated["notes"].dump().find("/compute") == std::string::npos);
  const json other =
      document(run_command(SIMSGD_PROGRAM " run - --json --set '/compute=\"real\"'", kTimeOnly));
  CHECK(other["notes"].dump().find("/compute has no effect: a simulation takes the workload's times") !=
        std::string::npos);
}

TEST_CASE("the notes say that another workload's sizes do not apply, and a summary shows them") {
  const Ran ran = run_ranks(
      2, std::string(SIMSGD_MEASURE_PROGRAM) + " run - --set '/learner=" + kLearner + "'", kTimeOnly);
  CHECK(ran.code == 0);
  CHECK(ran.output.starts_with(
      "time only: 2 ranks, measured, softmax_regression on gaussian_mixture (batch 8), allreduce_sgd\n\n"));
  CHECK(ran.output.find("Throughput") != std::string::npos);
  CHECK(ran.output.find("\nNotes\n") != std::string::npos);
  // 8 features and a bias for each of 4 classes.
  CHECK(ran.output.find(
            "- Times and message sizes are the learner's (36 parameters in fp32), not those of tiny.\n") !=
        std::string::npos);
}

TEST_CASE("a real run keeps the notes of its job, and adds its own") {
  const json notes = document(run_ranks(
      2, SIMSGD_MEASURE_PROGRAM " run - --json --set /stragglers/0/probability=0", kTimeOnly))["notes"];
  REQUIRE(notes.size() > 2);
  const auto own = std::find(notes.begin(), notes.end(), "/stragglers/0 has no effect: its probability is 0");
  REQUIRE(notes.end() - own > 1);
  CHECK(own[1].get<std::string>().starts_with("The network is the real one between the ranks"));
}

TEST_CASE("a directory that cannot be written to is refused before the run, once") {
  const Ran ran = run_ranks(2, SIMSGD_MEASURE_PROGRAM " run - -o /dev/null/out", kTimeOnly);
  CHECK(ran.code == 2);
  CHECK(ran.output.empty());
  CHECK(count(ran.errors, "-o: cannot be written to: Not a directory. Found: /dev/null/out.") == 1);
}

TEST_CASE("evaluations by the clock: at instants that all ranks have passed, and at the end") {
  const json real =
      document(run_ranks(2,
                         std::string(SIMSGD_MEASURE_PROGRAM) + " run - --json --set '/learner=" + kLearner +
                             "' --set '/stop={\"time\": \"0.1 s\"}' --set '/record/evaluate_every=20 ms'",
                         kTimeOnly));
  const json test = real["series"]["test"];
  // At 20, 40, ... ms; a rank that the machine holds up may pass several instants at once.
  REQUIRE(!test.empty());
  CHECK(test.size() <= 6);
  double before_s = 0;
  for (const json& point : test) {
    CHECK(point["time_s"].get<double>() > before_s);
    before_s = point["time_s"];
    CHECK(point["test_loss"].is_number());
    CHECK(point["worker_steps"].size() == 2);
  }
  CHECK(test[0]["time_s"].get<double>() >= 0.02);
  CHECK(test.back()["worker_steps"][0] == real["workers"][0]["steps"]);
}

TEST_CASE("training that diverges ends all ranks with the reason, said once, and exit code 1") {
  const Ran ran = run_ranks(
      2,
      std::string(SIMSGD_MEASURE_PROGRAM) + " run - --json --set '/learner=" + kLearner +
          "' --set '/optimizer={\"name\": \"sgd\", \"learning_rate\": 1e12, \"weight_decay\": 1}' --set /stop/steps=50",
      kTimeOnly);
  CHECK(ran.code == 1);
  CHECK(ran.output.empty());
  CHECK(count(ran.errors, "training diverged. Lower the learning rate, or check the data.") == 1);
}

TEST_CASE("an error in the scenario is said once, and the exit code is 2") {
  const Ran ran = run_ranks(2, SIMSGD_MEASURE_PROGRAM " run - --set /algorithm/name=alreduce_sgd", kTimeOnly);
  CHECK(ran.code == 2);
  CHECK(ran.output.empty());
  CHECK(count(ran.errors, "--set:/algorithm/name") == 1);
  CHECK(count(ran.errors, "Did you mean \"allreduce_sgd\"?") == 1);
}

TEST_CASE("ranks that were started apart are refused before they begin, in one sentence, with exit code 2") {
  const fs::path folder = fs::path(SIMSGD_BINARY_DIR) / "test_measure_apart";
  fs::remove_all(folder);
  fs::create_directories(folder);
  json other = json::parse(kTimeOnly);
  other["algorithm"] = {{"name", "local_sgd"}};
  std::ofstream(folder / "one.json") << kTimeOnly;
  std::ofstream(folder / "two.json") << other.dump();
  const std::string run = SIMSGD_MEASURE_PROGRAM " run ", one = (folder / "one.json").string(),
                    two = (folder / "two.json").string(), next = " : -n 1 ";
  const struct {
    std::string ranks, sentence;
  } cases[] = {
      {run + one + " -o " + (folder / "out").string() + next + run + two, two + ":/algorithm/"},
      {run + one + next + run + one + " --set /stop/steps=7",
       one +
           ":/stop/steps: differs between rank 0 and rank 1. Found: 7, but 5 on rank 0. Give all ranks the same scenario."},
      {run + one + next + SIMSGD_MEASURE_PROGRAM + " network --max-bytes 8",
       "Rank 1 was started with \"network --max-bytes 8\", and rank 0 with \"run " + one +
           "\". Give all ranks the same command and options."},
      {run + one + next + run + "-", "Rank 1 was started with \"run -\", and rank 0 with"},
      {run + one + next + run + one + " --schedules scenario", "Rank 1 was started with"},
      {run + one + next + run + one + " --patiense 3", "Rank 1 was started with"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.ranks);
    const Ran ran = run_ranks(1, each.ranks);
    INFO(ran.errors);
    CHECK(ran.code == 2);
    CHECK(ran.output.empty());
    CHECK(count(ran.errors, each.sentence) == 1);
    CHECK(!fs::exists(folder / "out"));
  }
  // What may differ: how the file is called, what rank 0 alone writes.
  fs::copy_file(folder / "one.json", folder / "same.json");
  CHECK(run_ranks(1, run + one + " --json" + next + run + (folder / "same.json").string()).code == 0);
  fs::remove_all(folder);
}

TEST_CASE("exchanges between neighbours send what the simulation sends: two models a step on a ring of six") {
  const std::string arguments =
      " run - --json --set '/algorithm={\"name\": \"d_psgd\"}' --set '/stragglers=[]'";
  const json real = document(run_ranks(6, SIMSGD_MEASURE_PROGRAM + arguments, kTimeOnly));
  const json simulated =
      document(run_command(SIMSGD_PROGRAM + arguments + " --set /cluster/workers=6", kTimeOnly));
  const char* name = "bytes_sent_per_worker_per_step";
  CHECK(real["metrics"][name].get<double>() == doctest::Approx(2 * 4000).epsilon(1e-12));
  CHECK(simulated["metrics"][name].get<double>() == doctest::Approx(2 * 4000).epsilon(1e-12));
}

TEST_CASE("what a real run cannot do for an algorithm is refused before the run, with what would be right") {
  const Ran ran = run_ranks(
      2,
      std::string(SIMSGD_MEASURE_PROGRAM) + " run - --set '/learner=" + kLearner +
          "' --set '/algorithm={\"name\": \"ad_psgd\"}' --set '/target={\"metric\": \"train_loss\", \"value\": 1, \"stop\": true}'",
      kTimeOnly);
  CHECK(ran.code == 2);
  CHECK(ran.output.empty());
  CHECK(
      count(
          ran.errors,
          "<stdin>:/target/stop: cannot end a real run of ad_psgd: its workers never synchronise, so no rank knows when the target is reached. Found: true. Give /stop a time or steps, and set /target/stop to false: time_to_target_s is then known at the end.") ==
      1);
}

TEST_CASE("--help shows an example, once") {
  const Ran ran = run_ranks(2, SIMSGD_MEASURE_PROGRAM " --help");
  CHECK(ran.code == 0);
  CHECK(count(ran.output, "mpirun -n 4 simsgd-measure run") == 1);
}

}  // namespace simsgd::test::measure_documents
