// What a summary says beside the times: how far to trust them, and who held up the others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "results/summary_view.hpp"
#include "sim/activities.hpp"
#include "sim/base/quantiles.hpp"

namespace simsgd {

namespace {

/// A worker that is slower than the median of the others by less than this is as fast.
constexpr double kSlower = 0.01;

std::vector<std::string> row_of(const std::string& label, const std::vector<RunView>& runs,
                                const std::function<std::string(const RunView&)>& get) {
  std::vector<std::string> row = {label, ""};
  bool any = false;
  for (const RunView& run : runs) {
    const std::string text = get(run);
    any = any || !text.empty();
    row.push_back(text.empty() ? "-" : text);
  }
  return any ? row : std::vector<std::string>();
}

}  // namespace

std::string RunView::network_fidelity() const {
  if (clock() == "wall" || failed() || !document_->contains("fidelity")) return "";
  std::set<std::string> names;
  bool exact = true;
  for (const nlohmann::ordered_json& each : document_->at("fidelity")) {
    names.insert(each.at("fidelity").get<std::string>());
    exact = exact && each.at("exact").get<bool>();
  }
  // Messages between two workers are always simulated one by one.
  if (names.empty() && metric("bytes_sent_per_worker_per_step").value_or(0) > 0 && clock() == "simulated")
    names.insert("messages");
  return names.empty() ? "" : fmt::format("{}, {}", fmt::join(names, " + "), exact ? "exact" : "approximate");
}

std::string slowest_worker_text(const nlohmann::ordered_json& all) {
  std::vector<std::pair<double, std::string>> workers;  // seconds of a step
  for (const nlohmann::ordered_json& worker : all) {
    const double steps = worker.at("steps").get<double>();
    if (steps == 0 || !worker.contains("time_by_activity")) continue;
    const nlohmann::ordered_json& time = worker["time_by_activity"];
    double busy_s = 0;
    for (const Activity part : {Activity::compute, Activity::straggle})
      busy_s += time.value(activity_metric(part), 0.0);
    workers.emplace_back(busy_s / steps, worker.at("rank").dump());
  }
  if (workers.size() < 2) return "";
  const auto at = std::max_element(workers.begin(), workers.end(),
                                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto slowest = *at;
  workers.erase(at);
  std::vector<double> others;
  for (const auto& each : workers) others.push_back(each.first);
  const double usual = median(std::move(others));
  if (!(slowest.first > usual * (1 + kSlower))) return "";
  return fmt::format("rank {}, +{:.0f} %", slowest.second, 100 * (slowest.first / usual - 1));
}

std::string RunView::slowest_worker() const {
  if (failed()) return "";
  if (!document_->contains("workers")) return document_->value("slowest_worker", "");
  return slowest_worker_text(document_->at("workers"));
}

std::string RunView::busiest_link() const {
  if (failed() || !document_->contains("links") || document_->at("links").empty()) return "";
  const nlohmann::ordered_json& link = document_->at("links").front();
  return fmt::format("{}, {:.0f} %", link.at("name").get<std::string>(),
                     100 * link.at("utilisation").get<double>());
}

std::vector<std::pair<std::string, double>> RunView::memory() const {
  std::vector<std::pair<std::string, double>> parts;
  if (failed() || !document_->contains("memory")) return parts;
  for (const nlohmann::ordered_json& each : document_->at("memory"))
    parts.emplace_back(each.at("part").get<std::string>(), each.at("bytes").get<double>());
  return parts;
}

std::vector<std::vector<std::string>> fact_rows(const std::vector<RunView>& runs) {
  std::vector<std::vector<std::string>> rows = {
      row_of("Slowest worker", runs, [](const RunView& run) { return run.slowest_worker(); }),
      row_of("Busiest link", runs, [](const RunView& run) { return run.busiest_link(); }),
      row_of("Network fidelity", runs, [](const RunView& run) { return run.network_fidelity(); })};
  std::erase_if(rows, [](const std::vector<std::string>& row) { return row.empty(); });
  return rows;
}

std::vector<std::optional<double>> ratios(const std::vector<std::optional<double>>& values) {
  std::vector<std::optional<double>> all;
  const auto known =
      std::count_if(values.begin(), values.end(), [](const auto& value) { return value.has_value(); });
  if (known < 2 || !values[0] || !(*values[0] > 0)) return all;
  for (const std::optional<double>& value : values)
    all.push_back(value ? std::optional(*value / *values[0]) : std::nullopt);
  return all;
}

std::string approximation_lines(const std::vector<RunView>& runs) {
  std::set<std::string> lines;
  for (const RunView& run : runs)
    for (const std::string& each : run.approximations()) lines.insert(each);
  std::string text;
  for (const std::string& line : lines) text += "\nApproximate: " + line;
  return text.empty() ? "" : text + "\n";
}

}  // namespace simsgd
