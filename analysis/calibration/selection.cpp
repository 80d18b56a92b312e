#include "analysis/calibration/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

bool same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::optional<double> x = number_of_text<double>(a), y = number_of_text<double>(b);
  return x && y && *x == *y;
}

bool is_power_of(double value, double base) {
  if (!(value > 0)) return false;
  const double exponent = std::round(std::log(value) / std::log(base));
  return std::fabs(std::pow(base, exponent) - value) <= 1e-9 * value;
}

std::string text_of(const Json& json) { return json.is_string() ? json.get<std::string>() : json.dump(); }

double amount_of(const std::string& column, const std::string& key, const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_string())
    for (const Dimension dimension : {Dimension::bytes, Dimension::time_s})
      if (const ParsedQuantity parsed = parse_quantity(json.get<std::string>(), dimension); parsed.ok)
        return parsed.value;
  reject(column + "/" + key, "is neither a number nor a quantity", "Write a number, a size or a time");
}

Condition condition_of(const std::string& column, const Json& json) {
  Condition condition{column, json.dump(), {}, {}, {}, {}, 0, 0};
  if (json.is_array()) {
    for (const Json& each : json) condition.among.push_back(text_of(each));
    return condition;
  }
  if (!json.is_object()) {
    condition.among.push_back(text_of(json));
    return condition;
  }
  for (const auto& part : json.items()) {
    if (part.key() == "at_least") condition.at_least = amount_of(column, part.key(), part.value());
    if (part.key() == "at_most") condition.at_most = amount_of(column, part.key(), part.value());
    if (part.key() == "contains")
      for (const Json& each : part.value().is_array() ? part.value() : Json::array({part.value()}))
        condition.contains.push_back(text_of(each));
    if (part.key() == "power_of") condition.power_of = part.value().get<double>();
    if (part.key() == "no_power_of") condition.no_power_of = part.value().get<double>();
  }
  return condition;
}

/// The values of a column, all of a few, else their ends.
std::string values_shown(const std::vector<Measurement>& all, const std::string& column) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> values;
  for (const Measurement& each : all)
    if (const std::optional<std::string> value = column_of(each, column))
      if (std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  if (values.empty()) return fmt::format("no measurement has \"{}\"", column);
  if (std::all_of(values.begin(), values.end(), number_of_text<double>))
    std::ranges::sort(values, [](const auto& a, const auto& b) {
      return *number_of_text<double>(a) < *number_of_text<double>(b);
    });
  if (values.size() <= kMostShown) return fmt::format("the data have {}", fmt::join(values, ", "));
  return fmt::format("the data have {} values, {} to {}", values.size(), values.front(), values.back());
}

}  // namespace

std::optional<std::string> column_of(const Measurement& measurement, const std::string& column) {
  if (column == "quantity") return measurement.quantity;
  if (column == "operation") return measurement.operation;
  if (column == "workers") return std::to_string(measurement.workers);
  if (column == "nodes") return std::to_string(measurement.nodes);
  if (column == "bytes") return fmt::format("{}", measurement.bytes);
  if (column == "campaign") return measurement.campaign;
  if (column == "source") return measurement.source;
  const auto label = measurement.labels.find(column);
  if (label == measurement.labels.end()) return std::nullopt;
  return label->second;
}

std::vector<std::string> columns_of(const std::string& names) {
  std::vector<std::string> columns;
  std::size_t begin = 0;
  for (std::size_t comma = 0; (comma = names.find(',', begin)) != std::string::npos; begin = comma + 1)
    columns.push_back(names.substr(begin, comma - begin));
  columns.push_back(names.substr(begin));
  return columns;
}

bool Condition::holds(const Measurement& measurement) const {
  const std::optional<std::string> value = column_of(measurement, column);
  if (!value) return false;
  if (!among.empty() &&
      std::ranges::none_of(among, [&](const std::string& each) { return same(each, *value); }))
    return false;
  if (!contains.empty() && std::ranges::none_of(contains, [&](const std::string& part) {
        return value->find(part) != std::string::npos;
      }))
    return false;
  if (!at_least && !at_most && power_of == 0 && no_power_of == 0) return true;
  const std::optional<double> number = number_of_text<double>(*value);
  if (!number) return false;
  return !(at_least && *number < *at_least) && !(at_most && *number > *at_most) &&
         (power_of == 0 || is_power_of(*number, power_of)) &&
         (no_power_of == 0 || !is_power_of(*number, no_power_of));
}

Selection::Selection(const Json& json) {
  if (json.is_array()) {
    for (const Json& each : json) any_of_.emplace_back(each);
    return;
  }
  for (const auto& member : json.items()) conditions_.push_back(condition_of(member.key(), member.value()));
}

bool Selection::holds(const Measurement& measurement) const {
  const auto holds_too = [&](const auto& each) { return each.holds(measurement); };
  return std::ranges::all_of(conditions_, holds_too) &&
         (any_of_.empty() || std::ranges::any_of(any_of_, holds_too));
}

Selection Selection::with(const std::string& column, const std::string& value) const {
  Selection both = *this;
  both.conditions_.push_back({column, Json(value).dump(), {value}, {}, {}, {}, 0, 0});
  return both;
}

std::string Selection::shown(const std::vector<Measurement>& all) const {
  std::vector<std::string> parts;
  for (const Condition& each : conditions_)
    parts.push_back(
        fmt::format("\"{}\": {} matches {} measurements; {}", each.column, each.text,
                    std::ranges::count_if(all, [&](const Measurement& one) { return each.holds(one); }),
                    values_shown(all, each.column)));
  for (const Selection& each : any_of_) parts.push_back(each.shown(all));
  return fmt::format("{}", fmt::join(parts, ". "));
}

namespace {

Json schema_of(const std::string& meaning) {
  const Json amount = {{"type", {"number", "string"}}};
  const Json base = {{"type", "number"}, {"exclusiveMinimum", 1}};
  const Json parts = {{"type", {"string", "array"}}, {"items", {{"type", "string"}}}, {"minItems", 1}};
  const Json range = {{"type", "object"},
                      {"additionalProperties", false},
                      {"minProperties", 1},
                      {"properties",
                       {{"at_least", amount},
                        {"at_most", amount},
                        {"contains", parts},
                        {"power_of", base},
                        {"no_power_of", base}}}};
  const Json plain = {{"type", {"string", "number", "boolean"}}};
  const Json one = {
      {"type", "object"},
      {"description",
       meaning +
           ": each column (quantity, operation, workers, nodes, bytes, campaign, source or a label) with a value, a list of values, a range, or what it contains"},
      {"additionalProperties",
       {{"oneOf", {plain, {{"type", "array"}, {"items", plain}, {"minItems", 1}}, range}}}}};
  return {{"oneOf", {one, {{"type", "array"}, {"items", one}, {"minItems", 1}}}},
          {"description", meaning + ": by its columns, or a list of such, of which one has to hold"}};
}

/// The pointer of a scenario that has what a column of measurements tells; "" where none does.
std::string pointer_of(const std::string& column) {
  if (column == "algorithm" || column == "workload") return "/" + column + "/name";
  if (column == "workers" || column == "nodes") return "/cluster/" + column;
  return column == "batch" ? "/workload/batch" : "";
}

}  // namespace

Field& Selection::field(Fields& f, std::string_view key, const std::string& meaning) {
  return f.raw(key, written_, schema_of(meaning));
}

void Selection::settle() {
  if (written_.present()) *this = Selection(written_.json());
}

std::string column_of_measurements(const Selection& selection) {
  // A scenario has one value of a column: a list of conditions is of measurements alone.
  if (!selection.any_of().empty())
    return selection.any_of().front().empty() ? "quantity"
                                              : selection.any_of().front().conditions().front().column;
  for (const Condition& each : selection.conditions())
    if (pointer_of(each.column).empty() || each.power_of != 0 || each.no_power_of != 0) return each.column;
  return "";
}

std::optional<Json> where_of(const Selection& selection) {
  if (!column_of_measurements(selection).empty()) return std::nullopt;
  Json where = Json::object();
  for (const Condition& each : selection.conditions()) {
    Json& wanted = where[pointer_of(each.column)];
    if (!each.among.empty()) wanted = each.among;
    if (each.at_least) wanted["at_least"] = *each.at_least;
    if (each.at_most) wanted["at_most"] = *each.at_most;
  }
  return where;
}

}  // namespace simsgd
