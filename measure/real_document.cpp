#include "measure/real_document.hpp"

#include <fmt/format.h>

#include "measure/version.hpp"
#include "sim/base/atomic_file.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

// What this run does not take from its scenario, one sentence each.
OrderedJson notes_on(const Scenario& scenario, const Job& job) {
  OrderedJson notes = {
      "The network is the one between the ranks, and MPI chooses the schedules; the scenario's network, host "
      "costs "
      "and schedules only serve predictions. Bytes sent are those of a schedule that sends least."};
  if (!job.learner)
    notes.push_back(
        "There is no learner: the workload's compute times are slept through, and messages carry zeros of "
        "the "
        "workload's sizes.");
  else if (scenario.resolved.at("workload") != "self")
    notes.push_back(
        fmt::format("Times and message sizes are the learner's ({} parameters in fp32), not those of {}.",
                    job.learner->parameters(), job.workload.name));
  if (job.learner && (!job.cluster.node_speed.empty() || scenario.resolved.at("workload") != "self"))
    notes.push_back(
        "Computing takes the time it takes here: speeds of nodes and compute factors are not applied.");
  if (job.learner && job.network.precision != Precision::fp32)
    notes.push_back("Values are rounded to the scenario's precision, and travel in fp32.");
  if (!job.stragglers.empty()) notes.push_back("Stragglers' delays are slept through.");
  if (job.record.timeline_events > 0) notes.push_back("No timeline is recorded.");
  return notes;
}

// A series of the document as CSV (RFC 4180). Its columns are the keys of a point that have one value.
void write_curve(const fs::path& path, const OrderedJson& points) {
  if (points.empty()) return;
  std::string csv;
  for (const auto& [key, value] : points.front().items())
    if (!value.is_structured()) csv += (csv.empty() ? "" : ",") + key;
  csv += "\r\n";
  for (const OrderedJson& point : points) {
    std::string line;
    for (const auto& [key, value] : point.items())
      if (!value.is_structured()) line += (line.empty() ? "" : ",") + (value.is_null() ? "" : value.dump());
    csv += line + "\r\n";
  }
  write_file_atomically(path, csv);
}

}  // namespace

std::string version_text() {
  const std::string commit = measure_version::kGitCommit;
  return fmt::format("simsgd-measure {} ({}, {})", measure_version::kNumber,
                     commit.empty() ? "no commit" : commit, measure_version::kBuildType);
}

OrderedJson real_document(const Scenario& scenario, const Job& job, const RunRecord& record,
                          double wall_time_s) {
  RunContext context;
  context.program = "simsgd-measure";
  context.version = measure_version::kNumber;
  context.git_commit = measure_version::kGitCommit;
  context.build_type = measure_version::kBuildType;
  context = with_machine(std::move(context));
  context.wall_time_s = wall_time_s;
  OrderedJson document = make_document(context, scenario, job, record);
  document["notes"] = notes_on(scenario, job);
  return document;
}

std::string real_summary(const OrderedJson& document) {
  const OrderedJson& metrics = document.at("metrics");
  std::string text;
  const auto line = [&](const char* label, const char* metric, std::string (*shown)(double)) {
    if (const auto value = metrics.find(metric); value != metrics.end())
      text += fmt::format("{:<24} {}\n", label, shown(value->get<double>()));
  };
  text += fmt::format("{}: {} ranks, measured\n", document.at("scenario").at("name").get<std::string>(),
                      document.at("workers").size());
  line("samples per second", "throughput_samples_per_s", human_number);
  line("time of a step", "iteration_time_mean_s", human_time);
  line("  computing", "compute_s", human_time);
  line("  stragglers", "straggle_s", human_time);
  line("  host", "host_s", human_time);
  line("  waiting for bytes", "communication_exposed_s", human_time);
  line("  waiting for others", "wait_s", human_time);
  line("duration", "simulated_time_s", human_time);
  line("training loss", "train_loss_final", human_number);
  line("test accuracy", "test_accuracy_final", human_number);
  for (const OrderedJson& note : document.at("notes")) text += fmt::format("- {}\n", note.get<std::string>());
  return text;
}

void write_real_run(const OrderedJson& document, const fs::path& directory) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) throw RunError(fmt::format("Cannot make {}: {}", directory.string(), failure.message()));
  write_curve(directory / "loss.csv", document.at("series").at("train"));
  write_curve(directory / "accuracy.csv", document.at("series").at("test"));
  write_file_atomically(directory / "result.json", document.dump(2) + "\n");
}

}  // namespace simsgd
