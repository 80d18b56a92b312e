#include "analysis/runner.hpp"

#include <fmt/format.h>

#include <chrono>

#include "analysis/version.hpp"
#include "sim/base/atomic_file.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

RunContext build_context() {
  RunContext context;
  context.version = version::kNumber;
  context.git_commit = version::kGitCommit;
  context.build_type = version::kBuildType;
  context.simgrid_version = simgrid_version();
  return context;
}

RunOutcome run_scenario(const Scenario& scenario, const SimulationOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  // Kept for the life of the process: SimGrid's statics refer to the run (see simulate.cpp).
  const Job& job = *new Job(make_job(scenario));
  SimulationResult result = simulate(job, options);
  RunContext context = with_machine(build_context());
  context.wall_time_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {make_document(context, scenario, job, result.record), std::move(result.timeline)};
}

namespace {

// A series of the document as CSV (RFC 4180), units in the header.
std::string curve_csv(const OrderedJson& points,
                      const std::vector<std::pair<std::string, std::string>>& columns) {
  std::string csv;
  for (const auto& [key, header] : columns) csv += (csv.empty() ? "" : ",") + header;
  csv += "\r\n";
  for (const OrderedJson& point : points) {
    std::string line;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto value = point.find(columns[c].first);
      line += (c == 0 ? "" : ",") + (value == point.end() || value->is_null() ? "" : value->dump());
    }
    csv += line + "\r\n";
  }
  return csv;
}

}  // namespace

RunFiles write_run(const RunOutcome& outcome, const fs::path& directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) throw RunError(fmt::format("Cannot make {}: {}", directory.string(), failure.message()));
  RunFiles files;
  const OrderedJson& series = outcome.document.at("series");
  if (const auto train = series.find("train"); train != series.end() && !train->empty()) {
    files.training_curve = directory / "loss.csv";
    write_file_atomically(
        files.training_curve,
        curve_csv(*train, {{"step", "step"}, {"time_s", "time_s"}, {"train_loss", "train_loss"}}));
  }
  if (const auto test = series.find("test"); test != series.end() && !test->empty()) {
    files.test_curve = directory / "accuracy.csv";
    write_file_atomically(files.test_curve, curve_csv(*test, {{"step", "step"},
                                                              {"time_s", "time_s"},
                                                              {"test_loss", "test_loss"},
                                                              {"test_accuracy", "test_accuracy"},
                                                              {"consensus_distance", "consensus_distance"}}));
  }
  if (!outcome.timeline.empty()) {
    outcome.timeline.write(directory);
    files.timeline = directory / "timeline.json";
  }
  files.document = directory / "result.json";
  write_file_atomically(files.document, outcome.document.dump(2) + "\n");
  return files;
}

}  // namespace simsgd
