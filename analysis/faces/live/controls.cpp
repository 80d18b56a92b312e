#include "analysis/faces/live/controls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "scenarios/language/axis_values.hpp"
#include "sim/base/check.hpp"

namespace simsgd::live {

namespace {

// More than a person chooses from, in a list or as marks of a slider.
constexpr std::size_t kMostShown = 1000;
// Ratios matter where the largest is so many times the smallest.
constexpr double kLogRatio = 20;
constexpr double kSame = 1e-6;

double six_digits(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

bool is_same(double a, double b) { return std::fabs(a - b) <= kSame * std::max(std::fabs(a), std::fabs(b)); }

/// A range where all are numbers, or text with one unit, and differ.
std::optional<NumberRange> range_of(const std::vector<Json>& values, bool log) {
  NumberRange range;
  range.whole = true;
  for (const Json& value : values) {
    const std::optional<Bound> bound = read_bound(value);
    if (!bound || !std::isfinite(bound->number) || (!range.values.empty() && bound->unit != range.unit))
      return std::nullopt;
    range.unit = bound->unit;
    range.whole = range.whole && bound->whole && bound->unit.empty();
    range.values.push_back(bound->number);
  }
  if (range.values.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(range.values.begin(), range.values.end());
  range.from = *least;
  range.to = *most;
  if (range.from == range.to) return std::nullopt;
  range.log = range.from > 0 && (log || range.to / range.from >= kLogRatio);
  return range;
}

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::size_t chosen(const Json& asked, const Control& control) {
  const std::size_t count = control.labels.size();
  if (!asked.is_object() || asked.size() != 1 || !asked.contains("choice") ||
      !asked["choice"].is_number_unsigned() || asked["choice"].get<std::uint64_t>() >= count)
    throw BadChoice(fmt::format("{}: choose one of its {} values.", control.name, count));
  return asked["choice"].get<std::size_t>();
}

double number_in(const Json& asked, const Control& control) {
  const NumberRange& range = control.range.value();
  const std::string unit = range.unit.empty() ? "" : " " + range.unit;
  const bool given =
      asked.is_object() && asked.size() == 1 && asked.contains("number") && asked["number"].is_number();
  const double value = given ? asked["number"].get<double>() : std::nan("");
  if (!(value >= range.from && value <= range.to) && !is_same(value, range.from) && !is_same(value, range.to))
    throw BadChoice(
        fmt::format("{}: give a number from {:g} to {:g}{}.", control.name, range.from, range.to, unit));
  if (range.whole && value != std::round(value))
    throw BadChoice(
        fmt::format("{}: give a whole number from {:g} to {:g}.", control.name, range.from, range.to));
  return value;
}

Json written_number(double value, const NumberRange& range) {
  if (range.whole) return static_cast<std::int64_t>(value);
  if (!range.unit.empty()) return fmt::format("{:.6g} {}", value, range.unit);
  return six_digits(value);
}

/// Which of the study's own values the number is.
std::optional<std::size_t> listed(double value, const NumberRange& range) {
  const auto found =
      std::ranges::find_if(range.values, [value](double each) { return is_same(each, value); });
  if (found == range.values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - range.values.begin());
}

Origin from_page(const std::string& name) { return {"explore", "/" + name}; }

}  // namespace

Controls::Controls(const Study& study) : axes_(study) {
  const std::size_t count = axes_.axes().size();
  for (std::size_t i = 0; i + (axes_.has_seeds() ? 1 : 0) < count; ++i) add_axis(i);
  if (!axes_.has_seeds()) return;
  seeds_ = axes_.axes().back().values;
  // What a rule decides of further seeds is a sweep's to find out.
  if (study.seed_rule)
    seeds_.resize(std::min(seeds_.size(), static_cast<std::size_t>(study.seed_rule->at_least)));
}

void Controls::add_axis(std::size_t axis) {
  const StudyAxis& each = axes_.axes()[axis];
  const Json& written = axes_.written(axis);
  for (const char* method : {"random", "sobol"})
    if (written.contains(method)) {
      for (std::size_t d = 0; d < written[method].size(); ++d) add_dimension(axis, d, written[method][d]);
      return;
    }
  Control control{axis, 0, false, joined(each.columns), {}, {}, {}};
  if (written.contains("pointer")) {
    std::vector<Json> values;
    for (const AxisValue& value : each.values) values.push_back(value.coordinates.front().value);
    control.range = range_of(values, written.contains("log_range"));
  }
  if (!control.range)
    for (std::size_t i = 0; i < std::min(each.values.size(), kMostShown); ++i)
      control.labels.push_back(joined(each.values[i].labels));
  controls_.push_back(std::move(control));
}

void Controls::add_dimension(std::size_t axis, std::size_t column, const Json& dimension) {
  Control control{axis, column, true, axes_.axes()[axis].columns[column], {}, {}, {}};
  if (dimension.contains("from"))
    control.range = range_of({dimension["from"], dimension["to"]}, dimension.value("scale", "") == "log");
  if (control.range) {
    control.range->values.clear();  // its bounds are not values of the study
  } else {
    control.values = dimension.contains("from") ? std::vector<Json>{dimension["from"]}
                                                : dimension["values"].get<std::vector<Json>>();
    for (const Json& value : control.values) control.labels.push_back(value_label(value));
  }
  controls_.push_back(std::move(control));
}

nlohmann::ordered_json Controls::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Control& each : controls_) {
    nlohmann::ordered_json made = {{"name", each.name}};
    if (each.range) {
      std::vector<double> marks = each.range->values;
      marks.resize(std::min(marks.size(), kMostShown));
      made["range"] = {{"from", each.range->from},   {"to", each.range->to},   {"unit", each.range->unit},
                       {"whole", each.range->whole}, {"log", each.range->log}, {"values", marks}};
    } else {
      made["labels"] = each.labels;
    }
    all.push_back(std::move(made));
  }
  return {{"controls", std::move(all)}, {"seeds", seeds_.size()}};
}

std::vector<AxisValue> Controls::values_at(const Json& at) const {
  if (!at.is_array() || at.size() != controls_.size())
    throw BadChoice(fmt::format("Give a value for every axis ({} in all).", controls_.size()));
  std::vector<AxisValue> values(axes_.axes().size());
  for (std::size_t i = 0; i < controls_.size(); ++i) {
    const Control& control = controls_[i];
    const StudyAxis& axis = axes_.axes()[control.axis];
    Json value;
    if (!control.range) {
      const std::size_t choice = chosen(at[i], control);
      if (!control.drawn) {
        values[control.axis] = axis.values[choice];
        continue;
      }
      value = control.values[choice];
    } else {
      const double number = number_in(at[i], control);
      if (const auto own = listed(number, *control.range)) {
        values[control.axis] = axis.values[*own];
        continue;
      }
      value = written_number(number, *control.range);
    }
    // A simple axis has one pointer, an axis of draws one for each dimension.
    const Assignment set{axis.pointers.at(control.column), value, from_page(control.name)};
    AxisValue& made = values[control.axis];
    made.coordinates.push_back(set);
    made.labels.push_back(value_label(value));
    made.sets.push_back(set);
  }
  return values;
}

std::vector<StudyPoint> Controls::points(const Json& asked) const {
  if (!asked.is_object() || !asked.contains("at")) throw BadChoice("Give \"at\", a value of each axis.");
  std::vector<AxisValue> values = values_at(asked["at"]);
  const Json& seeds = asked.value("seeds", Json(std::uint64_t{1}));
  const std::size_t most = std::max<std::size_t>(1, seeds_.size());
  if (!seeds.is_number_unsigned() || seeds.get<std::uint64_t>() < 1 || seeds.get<std::uint64_t>() > most)
    throw BadChoice(fmt::format("seeds: give a whole number from 1 to {}.", most));
  std::vector<StudyPoint> points;
  for (std::size_t i = 0; i < seeds.get<std::size_t>(); ++i) {
    if (!seeds_.empty()) values.back() = seeds_[i];
    std::optional<StudyPoint> point = axes_.point(values);
    if (!point) throw BadChoice("The study's \"exclude\" leaves this combination out.");
    points.push_back(std::move(*point));
  }
  return points;
}

}  // namespace simsgd::live
