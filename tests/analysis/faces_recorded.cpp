// What tables, comparisons, exports, reports, claims, advice, sweeps, calibrations and replays print, byte
// for byte. Each file of faces/*.term reads like a terminal: a line "$ simsgd ..." and what the program
// answers. SIMSGD_WRITE_RECORDED=1 writes the answers anew: only in a commit that lists the cells that move,
// and why; or for a command that is added to a file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "results/document.hpp"
#include "tests/analysis/support.hpp"
#include "tests/calibration/support.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/replay/pipeline_model.hpp"

namespace simsgd::test::analysis_faces_recorded {

namespace {

namespace fs = std::filesystem;

const fs::path kFaces = SIMSGD_SOURCE_DIR "/tests/analysis/faces";

/// What depends on the machine, the clock or the version goes; a carriage return is made visible.
std::string masked(const std::string& text) {
  static const std::regex kContext(R"re("context": ?\{[^{}]*\})re");
  static const std::regex kProgram(R"re("(version|host|date)":"[^"]*")re");
  const std::string shown =
      std::regex_replace(std::regex_replace(text, kContext, R"("context":{})"), kProgram, R"("$1":"")");
  return std::regex_replace(shown, std::regex("\r"), "␍");
}

/// Of three methods; a number below 0 is a run that ends then, short of the target; 0 is one that fails.
struct Times {
  int workers;
  std::vector<double> allreduce_sgd, local_sgd, d_psgd;
};

/// With as much data as it had when this was recorded.
Json recorded_learner() {
  Json learner = small_learner();
  learner["data"] = {{"name", "gaussian_mixture"}};
  return learner;
}

/// A study whose runs give these times, in faces/NAME.json with a claim.
void put_times(const Folder& folder, const std::string& name, const std::vector<Times>& times) {
  Json study = small_scenario();
  study["name"] = name;
  study["learner"] = recorded_learner();
  study["target"] = {{"metric", "train_loss"}, {"value", 0.1}};
  Json workers = Json::array();
  for (const Times& each : times) workers.push_back(each.workers);
  study["axes"] = {{{"pointer", "/algorithm/name"}, {"values", {"allreduce_sgd", "local_sgd", "d_psgd"}}},
                   {{"pointer", "/cluster/workers"}, {"values", workers}}};
  study["seeds"] = times.front().d_psgd.size();
  study["claim"] = {{"id", "T1"},
                    {"text", "Local SGD reaches the target first."},
                    {"source", "Nobody"},
                    {"measured", "faster"},
                    {"inputs", "The number of workers is not told."},
                    {"comparisons",
                     {{{"name", "all-reduce over local"},
                       {"metric", "time_to_target_s"},
                       {"of", {{"/algorithm/name", "allreduce_sgd"}}},
                       {"to", {{"/algorithm/name", "local_sgd"}}}},
                      {{"name", "D-PSGD is no slower than local SGD"},
                       {"metric", "time_to_target_s"},
                       {"claimed", "not_above"},
                       {"of", {{"/algorithm/name", "d_psgd"}}},
                       {"to", {{"/algorithm/name", "local_sgd"}}}}}}};
  SweepSettings settings;
  settings.database = folder.path(name + ".db");
  settings.run = [&](const Scenario& scenario, const SimulationOptions&) {
    const Json& resolved = scenario.resolved;
    const int count = resolved["cluster"]["workers"];
    const std::string method = resolved["algorithm"]["name"];
    const std::size_t seed = resolved["seed"];
    const Times& row =
        *std::find_if(times.begin(), times.end(), [&](const Times& each) { return each.workers == count; });
    const double time_s = (method == "d_psgd"      ? row.d_psgd
                           : method == "local_sgd" ? row.local_sgd
                                                   : row.allreduce_sgd)
                              .at(seed - 1);
    if (time_s == 0) throw RunError("Out of memory.");
    RunOutcome outcome = made_outcome(scenario);
    // The luck of a seed, 1, 2 or 4 %, is everybody's.
    const double slow = (method == "local_sgd" ? 1 : 1.25) * (1 + 0.01 * static_cast<double>(1U << seed % 3));
    outcome.document["metrics"] = {{"throughput_samples_per_s", 1000 * count / slow},
                                   {"scaling_efficiency", 1 / slow},
                                   {"iteration_time_mean_s", 0.123456 * slow},
                                   {"compute_s", 0.1},
                                   {"simulated_time_s", std::fabs(time_s)}};
    if (time_s > 0) outcome.document["metrics"]["time_to_target_s"] = time_s;
    return outcome;
  };
  sweep_results(load_study(folder.write_json(name + ".json", study)), settings);
}

/// Nothing is drawn: three methods on an ideal network without stragglers.
Json deterministic_study() {
  Json study = small_study({2, 4, 8});
  study["workload"]["layers"][0]["forward_flop"] = 1e9;
  study["learner"] = nullptr;
  study["axes"].push_back({{"pointer", "/algorithm"},
                           {"values",
                            {{{"name", "allreduce_sgd"}},
                             {{"name", "local_sgd"}, {"period", 5}},
                             {{"name", "local_sgd"}, {"period", 1}}}}});
  study["seeds"] = 3;
  return study;
}

/// A learner for real, with stragglers, whose target some runs miss.
Json learning_study() {
  Json study = small_study({2, 4});
  study["name"] = "learning";
  study["learner"] = recorded_learner();
  study["optimizer"] = {{"name", "sgd"}, {"learning_rate", 0.1}};
  study["stop"]["steps"] = 30;
  study["target"] = {{"metric", "train_loss"}, {"value", 1.3}, {"window", 5}};
  study["record"] = {{"evaluate_every", 15}};
  study["axes"] = {{{"pointer", "/algorithm"},
                    {"values", {{{"name", "allreduce_sgd"}}, {{"name", "local_sgd"}, {"period", 10}}}}},
                   {{"pointer", "/stragglers"},
                    {"values",
                     {Json::array({{{"name", "exponential"}, {"mean", "10 us"}}}),
                      Json::array({{{"name", "exponential"}, {"mean", "1 ms"}}})}}}};
  study["seeds"] = 6;
  return study;
}

/// 8 candidates with random delays.
Json candidates_study() {
  Json study = small_scenario();
  study["stop"]["steps"] = 60;
  study["stragglers"] = {{{"name", "exponential"}, {"mean", "40 us"}}};
  study["axes"] = {{{"pointer", "/algorithm"},
                    {"values",
                     {{{"name", "allreduce_sgd"}},
                      {{"name", "local_sgd"}, {"period", 2}},
                      {{"name", "local_sgd"}, {"period", 20}},
                      {{"name", "d_psgd"}}}}},
                   {{"pointer", "/cluster/nic/latency"}, {"values", {"10 us", "1 ms"}}}};
  return study;
}

/// Two steps of a pipeline; a stage of one replica is twice as slow in the second.
std::string operations() {
  std::string text = replay::kColumns;
  for (int step = 1; step <= 2; ++step) {
    replay::PipelineJob job;
    job.make(
        [step](const replay::Instruction& i) {
          return (i.communication() ? 0.001 : 0.010) * (step == 2 && i.replica == 1 && i.stage == 1 ? 2 : 1);
        },
        [](const replay::Instruction&) { return 0.0; });
    job.run();
    text += job.rows(step, step, true);
  }
  return text;
}

/// What the commands of faces/ find where they run.
void fill(const Folder& folder) {
  const double out = 0;  // of memory
  put_times(folder, "three",
            {{2, {40, 90, 65}, {30.5, 80, 54.5}, {41, 92, 64}},
             {4, {50, 100, -200}, {60, -200, -200}, {55, 105, 150}},
             {8, {-200, -200, -200}, {48, 49, 50}, {-200, -200, -200}},
             {16, {150, 160, 170}, {30, -60, -60}, {151, 161, 171}},
             {32, {70, 70, 70}, {70, 70, 70}, {80, 80, out}}});
  put_times(folder, "seven",
            {{2,
              {-400, -400, -400, -400, -400, -400, -400},
              {300, 305, 310, 315, 320, 325, 330},
              {350, 351, 352, 353, -400, -400, -400}},
             {4,
              {351, 352, 350, 349, 351, 353, 351},
              {48, 47, 49, 48, 50, 46, -45},
              {350, 351, 352, 353, 349, 348, 354}},
             {8,
              {14.31, 14.33, 14.32, 14.32, 14.3, 14.34, 14.32},
              {17, 17.01, 16.99, 17, 17, 17, 17},
              {16.34, 16.35, 16.33, 16.34, 16.34, 16.34, 16.34}}});
  put_times(folder, "one", {{2, {40}, {30}, {-200}}, {4, {-200}, {-100}, {60}}, {8, {50}, {50}, {50}}});
  folder.write_json("same.json", deterministic_study());
  folder.write_json("learning.json", learning_study());
  folder.write_json("candidates.json", candidates_study());
  Json two = candidates_study();
  two["stop"]["steps"] = 4;
  two["axes"].erase(0);
  folder.write_json("two.json", two);
  Json level = learning_study();
  level["axes"] = {{{"pointer", "/optimizer/learning_rate"}, {"values", {0.1, 0.000001, 0.05}}}};
  level.erase("seeds");
  level["target"]["value"] = 1.8;
  folder.write_json("level.json", level);
  Json still = small_scenario();
  still["stop"]["steps"] = 20;
  folder.write_json("still.json", still);
  folder.write_json("ring.json", ring_spec());
  std::vector<MeasuredRow> rows = ring_rows({}, 0.03, 4);
  std::erase_if(rows, [](const MeasuredRow& row) { return std::fmod(std::log2(row.bytes), 6) != 0; });
  folder.write("m.csv", csv_of(rows));
  folder.write("ops.csv", operations());
  fs::create_directory_symlink(SIMSGD_SOURCE_DIR "/scenarios", folder.path("scenarios"));
}

/// What `simsgd ...` answers in that folder; its errors only where it fails.
std::string answer(const Folder& folder, const std::string& command) {
  const std::string at = "cd " + folder.path(".") + " && " SIMSGD_BINARY_DIR "/";
  const int status = std::system((at + command + " > .out 2> .err").c_str());
  std::string text = contents(folder.path(".out"));
  if (const int code = WEXITSTATUS(status); code != 0)
    text += contents(folder.path(".err")) + fmt::format("exit {}\n", code);
  return masked(text);
}

struct Block {
  std::string command, text;  ///< "simsgd ..."; lines, each with its end
};

std::vector<Block> blocks_of(const fs::path& file) {
  std::vector<Block> blocks;
  std::istringstream lines(contents(file));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ "))
      blocks.push_back({line.substr(2), ""});
    else if (!blocks.empty())
      blocks.back().text += line + "\n";
  }
  return blocks;
}

/// The first place in which they differ, with what is around it; "" where they do not.
std::string first_difference(const std::string& recorded, const std::string& today) {
  if (recorded == today) return "";
  const auto [a, b] = std::mismatch(recorded.begin(), recorded.end(), today.begin(), today.end());
  const auto at = static_cast<std::size_t>(a - recorded.begin());
  const std::size_t from = at > 60 ? at - 60 : 0;
  return fmt::format("at byte {}:\n  was ...{}\n  is  ...{}", at, recorded.substr(from, 160),
                     today.substr(from, 160));
}

}  // namespace

TEST_CASE("what every face prints is what is recorded, byte for byte") {
  if (context_of("simsgd").build_type != "Release") {
    MESSAGE("SKIPPED: other builds contract floating-point operations in another way");
    return;
  }
  const Folder folder;
  fill(folder);
  const bool write = std::getenv("SIMSGD_WRITE_RECORDED") != nullptr;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFaces))
    if (entry.path().extension() == ".term") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  CHECK(files.size() >= 5);
  for (const fs::path& file : files) {
    std::string written;
    for (const Block& block : blocks_of(file)) {
      const std::string today = answer(folder, block.command);
      written += "$ " + block.command + "\n" + today;
      const std::string difference = write ? "" : first_difference(block.text, today);
      CHECK_MESSAGE(difference.empty(), file.filename().string()
                                            << ": " << block.command << ": " << difference);
    }
    if (write) std::ofstream(file, std::ios::binary) << written;
  }
}

}  // namespace simsgd::test::analysis_faces_recorded
