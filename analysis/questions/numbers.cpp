#include "analysis/questions/numbers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace simsgd::questions {

namespace {

constexpr double kLopsided = 0.005;  // of the width: arms that are shown as one

bool is_symmetric(double value, const statistics::Interval& interval) {
  const double below = value - interval.low, above = interval.high - value;
  if (std::isinf(below) || std::isinf(above)) return false;
  return std::fabs(above - below) <= kLopsided * (above + below);
}

std::string shown_end(double end, const CommonUnit& unit) {
  if (std::isinf(end)) return end > 0 ? "?" : "-?";
  return unit.show(end);
}

}  // namespace

CommonUnit unit_for(const std::string& si_unit, const std::vector<double>& values) {
  if (si_unit == "s") return common_time_unit(values);
  if (si_unit == "B") return common_bytes_unit(values);
  return common_unit(si_unit == "1" ? "" : si_unit, 1, values);
}

CommonUnit axis_unit(const std::string& si_unit, double largest) {
  if (si_unit != "s") return unit_for(si_unit, {largest});
  if (largest >= 3 * 3600.0) return {"h", 3600, 0};
  if (largest >= 600) return {"min", 60, 0};
  if (largest >= 1) return {"s", 1, 0};
  if (largest >= 1e-3) return {"ms", 1e-3, 0};
  return {"µs", 1e-6, 0};
}

std::string shown_estimate(double value, const std::optional<statistics::Interval>& interval,
                           const CommonUnit& unit, bool plus) {
  std::string text = (plus && value > 0 ? "+" : "") + unit.show(value);
  if (!interval || interval->low == interval->high) return text;
  if (is_symmetric(value, *interval)) return text + " ± " + unit.show(interval->half_width());
  return fmt::format("{} [{}, {}]", text, shown_end(interval->low, unit), shown_end(interval->high, unit));
}

std::string shown_cell(const CellSummary& summary, const CommonUnit& unit) {
  if (summary.above_seen()) return "> " + unit.show(summary.seen_until);
  if (!summary.value) return summary.failed > 0 ? "failed" : "-";
  return (summary.until ? "≥ " : "") + shown_estimate(*summary.value, summary.interval, unit);
}

std::string in_brackets(const CommonUnit& unit) { return unit.name.empty() ? "" : " (" + unit.name + ")"; }

std::string note_on_tau(const std::vector<double>& taus, const CommonUnit& unit) {
  std::string all;
  for (const double tau : taus)
    all += (all.empty() ? "" : ", ") + unit.show(tau) + (unit.name.empty() ? "" : " " + unit.name);
  return fmt::format(
      "Times are compared up to tau = {}, the earliest end of a cell whose last run did not arrive{}: > nobody arrives by then, ≥ a mean of min(T, tau) (Kaplan-Meier)",
      all, taus.size() > 1 ? ", of each comparison its own" : "");
}

nlohmann::ordered_json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json low_or_null(const std::optional<statistics::Interval>& interval) {
  return finite_or_null(interval ? std::optional(interval->low) : std::nullopt);
}

nlohmann::ordered_json high_or_null(const std::optional<statistics::Interval>& interval) {
  return finite_or_null(interval ? std::optional(interval->high) : std::nullopt);
}

}  // namespace simsgd::questions
