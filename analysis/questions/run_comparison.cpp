#include "analysis/questions/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "analysis/runs/results.hpp"
#include "results/curves.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/record.hpp"

namespace simsgd::questions {

namespace fs = std::filesystem;

namespace {

using RunJson = nlohmann::ordered_json;

struct ComparedRun {
  std::string name;
  RunJson document;
  std::optional<StepValues> steps;

  std::string kind() const { return document.value("clock", "") == "wall" ? "real" : "simulated"; }
};

ComparedRun read_run(const std::string& path) {
  ComparedRun run{path, run_document(path), {}};
  const fs::path steps =
      (fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path()) / kStepsFile;
  if (fs::exists(steps)) run.steps = read_steps(steps);
  return run;
}

std::optional<double> run_metric(const ComparedRun& run, const std::string& name) {
  const RunJson& metrics = run.document.at("metrics");
  const auto found = metrics.find(name);
  if (found == metrics.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// Of all workers, a value as often as it occurred; a bin of a histogram by its geometric middle.
std::vector<double> from_histograms(const ComparedRun& run, const std::string& name) {
  std::vector<double> all;
  for (const RunJson& worker : run.document.at("workers")) {
    if (!worker.contains("distributions") || !worker["distributions"].contains(name)) continue;
    const RunJson& part = worker["distributions"][name];
    if (part.is_array()) {
      for (const RunJson& age : part)
        all.insert(all.end(), age.at(1).get<std::size_t>(), age.at(0).get<double>());
      continue;
    }
    all.insert(all.end(), part.at("zero").get<std::size_t>(), 0.0);
    for (const RunJson& bin : part.at("bins"))
      all.insert(all.end(), bin.at(2).get<std::size_t>(),
                 std::sqrt(bin.at(0).get<double>() * bin.at(1).get<double>()));
  }
  return all;
}

std::vector<std::string> parts_of_a_step() {
  std::vector<std::string> parts = {"iteration_time_mean_s", "iteration_time_p50_s", "iteration_time_p95_s"};
  for (const ActivityInfo& info : activities()) parts.push_back(activity_metric(info.activity));
  for (const char* other : {"bytes_sent_per_worker_per_step", "throughput_samples_per_s", "staleness_mean",
                            "train_loss_final", "test_loss_final", "consensus_distance"})
    parts.emplace_back(other);
  return parts;
}

void add_metric(const std::string& name, const ComparedRun& real, const ComparedRun& simulated,
                Table& table) {
  const std::optional<double> measured = run_metric(real, name), expected = run_metric(simulated, name);
  if (!measured && !expected) return;
  const double step_s = run_metric(real, "iteration_time_mean_s").value_or(0);
  RunJson error = nullptr, of_step = nullptr;
  if (measured && expected) {
    const double difference = *expected - *measured;
    if (*measured != 0) error = difference / *measured;
    if (name.ends_with("_s") && step_s > 0) of_step = difference / step_s;
  }
  const bool time = name.ends_with("_s") && !name.ends_with("_per_s");
  if (!time) of_step = nullptr;
  const auto shown = [&](const std::optional<double>& value) {
    return !value ? std::string("-") : time ? human_time(*value) : human_number(*value);
  };
  const auto percent = [](const RunJson& share) {
    return share.is_null() ? std::string("") : fmt::format("{:+.1f} %", 100 * share.get<double>());
  };
  if (measured == 0.0 && expected == 0.0) return;
  table.rows.push_back({name, shown(measured), shown(expected), percent(error), percent(of_step)});
  table.records.push_back({name, measured ? RunJson(*measured) : RunJson(nullptr),
                           expected ? RunJson(*expected) : RunJson(nullptr), error, of_step});
}

struct Distance {
  std::string name;
  double resolution = 0;
};

void add_distance(const Distance& of, const std::vector<double>& real, const std::vector<double>& simulated,
                  Table& table) {
  if (real.empty() && simulated.empty()) return;
  const double distance = ks_distance(real, simulated, of.resolution);
  table.rows.push_back({"KS distance of " + of.name, fmt::format("{} values", real.size()),
                        fmt::format("{} values", simulated.size()), fmt::format("{:.3f}", distance), ""});
  table.records.push_back({"ks_" + of.name, real.size(), simulated.size(), distance, nullptr});
}

void add_curves(const ComparedRun& real, const ComparedRun& simulated, Table& table) {
  const RunJson &a = real.document["series"]["train"], &b = simulated.document["series"]["train"];
  double worst = 0;
  std::size_t both = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const RunJson &measured = a[i]["train_loss"], &expected = b[i]["train_loss"];
    if (!measured.is_number() || !expected.is_number()) continue;
    ++both;
    worst = std::max(worst, std::abs(expected.get<double>() - measured.get<double>()) /
                                std::max(1e-300, std::abs(measured.get<double>())));
  }
  if (both == 0) return;
  table.rows.push_back({"greatest difference of training losses", fmt::format("{} steps", a.size()),
                        fmt::format("{} steps", b.size()), fmt::format("{:.2g}", worst), ""});
  table.records.push_back({"train_loss_greatest_difference", a.size(), b.size(), worst, nullptr});
}

}  // namespace

double ks_distance(std::vector<double> a, std::vector<double> b, double resolution) {
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0 : 1;
  if (resolution > 0)
    for (std::vector<double>* each : {&a, &b})
      for (double& value : *each) value = std::floor(value / resolution);
  std::ranges::sort(a);
  std::ranges::sort(b);
  const double same = 1e-9 * std::max(std::abs(a.back()), std::abs(b.back()));
  double distance = 0;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const double here = std::min(a[i], b[j]) + same;
    while (i < a.size() && a[i] <= here) ++i;
    while (j < b.size() && b[j] <= here) ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                           static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return distance;
}

Table run_comparison(const std::string& one, const std::string& other) {
  const ComparedRun first = read_run(one), second = read_run(other);
  // Two runs of one kind have no names but their places.
  const bool differ = first.kind() != second.kind();
  const std::string left = differ ? first.kind() : "first", right = differ ? second.kind() : "second";
  Table table;
  table.title = fmt::format("{} ({}) beside {} ({})", one, first.kind(), other, second.kind());
  table.header = {"", left, right, "error", "of the step"};
  table.fields = {"name", left, right, "error", "error_of_step"};
  for (const std::string& name : parts_of_a_step()) add_metric(name, first, second, table);
  const bool exact = first.steps && second.steps;
  if (exact) {
    const double percent_s = 0.01 * run_metric(first, "iteration_time_mean_s").value_or(0);
    add_distance({"step times"}, first.steps->steps_s, second.steps->steps_s, table);
    add_distance({"waits"}, first.steps->wait_s, second.steps->wait_s, table);
    add_distance({"waits in 1 % of a step", percent_s}, first.steps->wait_s, second.steps->wait_s, table);
    add_distance({"straggle"}, first.steps->straggle_s, second.steps->straggle_s, table);
  } else {
    for (const auto& [name, key] : {std::pair{"waits", "wait_s"}, std::pair{"straggle", "straggle_s"}})
      add_distance({name}, from_histograms(first, key), from_histograms(second, key), table);
    table.notes.emplace_back(
        "Distributions are those of the documents' histograms (ten bins a decade); runs with --steps have every value.");
  }
  add_distance({"staleness"}, from_histograms(first, "staleness"), from_histograms(second, "staleness"),
               table);
  add_curves(first, second, table);
  const auto differs = [&](const char* what, const RunJson& a, const RunJson& b) {
    if (a != b)
      table.notes.push_back(fmt::format("The runs differ in {}: {} and {}.", what, a.dump(), b.dump()));
  };
  differs("workers", first.document["workers"].size(), second.document["workers"].size());
  if (first.document.contains("scenario") && second.document.contains("scenario"))
    for (const char* section : {"algorithm", "learner", "workload", "stragglers", "seed", "stop"})
      if (first.document["scenario"].value(section, RunJson()) !=
          second.document["scenario"].value(section, RunJson()))
        table.notes.push_back(fmt::format("The runs differ in /{} of their scenarios.", section));
  if (first.kind() != "real")
    table.notes.push_back(fmt::format("Errors are relative to {}, which is simulated.", one));
  table.facts[left] = one;
  table.facts[right] = other;
  return table;
}

}  // namespace simsgd::questions
