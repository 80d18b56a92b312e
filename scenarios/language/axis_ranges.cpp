#include "scenarios/language/axis_ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/language/axes.hpp"

namespace simsgd {

namespace {

Json written(double number, const Bound& like, bool whole) {
  if (!like.unit.empty()) return fmt::format("{} {}", number, like.unit);
  if (whole) return static_cast<std::int64_t>(std::llround(number));
  return number;
}

}  // namespace

std::optional<Bound> read_bound(const Json& value) {
  if (value.is_number()) return Bound{value.get<double>(), "", value.is_number_integer()};
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  Bound bound;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bound.number);
  if (error != std::errc()) return std::nullopt;
  bound.unit = std::string(rest, text.data() + text.size());
  bound.unit.erase(0, bound.unit.find_first_not_of(' '));
  return bound;
}

std::optional<DrawnRange> DrawnRange::read(const Json& dimension) {
  DrawnRange range;
  if (dimension.contains("values")) {
    range.values_ = dimension["values"].get<std::vector<Json>>();
    return range;
  }
  const auto from = read_bound(dimension["from"]), to = read_bound(dimension["to"]);
  if (!from || !to || from->unit != to->unit || !(from->number < to->number)) return std::nullopt;
  range.from_ = *from;
  range.to_ = *to;
  range.log_ = dimension.value("scale", "linear") == "log";
  if (range.log_ && !(from->number > 0)) return std::nullopt;
  return range;
}

Json DrawnRange::at(double share) const {
  if (!values_.empty()) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(values_.size()));
    return values_[std::min(place, values_.size() - 1)];
  }
  const bool whole = from_.whole && to_.whole;
  const double from = from_.number, to = whole ? to_.number + 1 : to_.number;
  const double number = log_ ? from * std::pow(to / from, share) : from + share * (to - from);
  if (whole) return written(std::clamp(std::floor(number), from, to_.number), from_, true);
  return written(std::stod(fmt::format("{:.6g}", number)), from_, false);
}

std::vector<Json> log_range(const Json& range) {
  const auto from = read_bound(range["from"]), to = read_bound(range["to"]);
  if (!from || !to || from->unit != to->unit || !(from->number > 0) || !(to->number > 0)) return {};
  const auto points = range["points"].get<int>();
  std::vector<Json> values;
  for (int i = 0; i < points; ++i) {
    const double exact = i == 0 ? from->number
                         : i + 1 == points
                             ? to->number
                             : from->number * std::pow(to->number / from->number, i / (points - 1.0));
    // 12 digits: 10 and not 9.999999999999998
    const double number = std::stod(fmt::format("{:.12g}", exact));
    const Json value = written(number, *from, from->whole && to->whole);
    if (values.empty() || values.back() != value) values.push_back(value);
  }
  return values;
}

std::vector<Json> linear_range(const Json& range) {
  const auto from = read_bound(range["from"]), to = read_bound(range["to"]), step = read_bound(range["step"]);
  if (!from || !to || !step || from->unit != to->unit || from->unit != step->unit) return {};
  const double steps = (to->number - from->number) / step->number;
  if (!(steps >= 0) || !(steps < static_cast<double>(kMostPoints))) return {};
  std::vector<Json> values;
  for (std::int64_t i = 0; static_cast<double>(i) <= steps + 1e-9; ++i) {
    const double number =
        std::stod(fmt::format("{:.12g}", from->number + static_cast<double>(i) * step->number));
    values.push_back(written(number, *from, from->whole && to->whole && step->whole));
  }
  return values;
}

}  // namespace simsgd
