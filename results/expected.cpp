#include "results/expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "results/text_table.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace {

std::string unit_of(const std::string& name) {
  for (const Metric& metric : metrics())
    if (metric.name == name) return metric.unit;
  return "";
}

}  // namespace

double ExpectedOutcome::error() const {
  if (simulated && *simulated == expected) return 0;
  if (!simulated || expected == 0) return std::numeric_limits<double>::infinity();
  return (*simulated - expected) / std::fabs(expected);
}

bool ExpectedOutcome::holds() const { return std::fabs(error()) <= tolerance; }

std::vector<ExpectedOutcome> compare_expected(const OrderedJson& document, const std::string& point) {
  std::vector<ExpectedOutcome> outcomes;
  const OrderedJson& measured = document.at("metrics");
  for (const OrderedJson& each : document.at("scenario").at("expected")) {
    const std::string metric = each.at("metric");
    ExpectedOutcome outcome{point,
                            metric,
                            unit_of(metric),
                            each.at("value").get<double>(),
                            std::nullopt,
                            each.at("tolerance").get<double>(),
                            each.at("source")};
    if (measured.contains(metric)) outcome.simulated = measured.at(metric).get<double>();
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

std::string expected_table(const std::vector<ExpectedOutcome>& outcomes) {
  if (outcomes.empty())
    return "Nothing to compare: the scenario's \"expected\" has no value whose \"when\" holds.\n";
  const bool points = std::ranges::any_of(outcomes, [](const auto& each) { return !each.point.empty(); });
  TextTable table;
  table.left = points ? 3 : 2;
  table.rows.push_back({"metric", "unit", "expected", "simulated", "error", "tolerance", "", "source"});
  std::size_t held = 0, source_width = 0;
  for (const ExpectedOutcome& each : outcomes)
    source_width = std::max(source_width, shown_width(each.source));
  for (const ExpectedOutcome& each : outcomes) {
    held += each.holds() ? 1U : 0U;
    table.rows.push_back({each.metric, each.unit, fmt::format("{:.6g}", each.expected),
                          each.simulated ? fmt::format("{:.6g}", *each.simulated) : "none",
                          std::isfinite(each.error()) ? fmt::format("{:+.2f} %", 100 * each.error()) : "-",
                          fmt::format("{:.4g} %", 100 * each.tolerance), each.holds() ? "ok" : "FAIL",
                          pad_right(each.source, source_width)});
    if (points) table.rows.back().insert(table.rows.back().begin(), each.point);
  }
  if (points) table.rows.front().insert(table.rows.front().begin(), "point");
  table.rows.front().back() = pad_right("source", source_width);
  return table.text() + fmt::format("{} of {} expected values hold.\n", held, outcomes.size());
}

bool all_hold(const std::vector<ExpectedOutcome>& outcomes) {
  return !outcomes.empty() &&
         std::ranges::all_of(outcomes, [](const ExpectedOutcome& each) { return each.holds(); });
}

}  // namespace simsgd
