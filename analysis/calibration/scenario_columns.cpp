#include "analysis/calibration/scenario_columns.hpp"

#include <nlohmann/json.hpp>

namespace simsgd {

namespace {

/// The pointer of a scenario that has what a column of measurements tells; "" where none does.
std::string pointer_of(const std::string& column) {
  if (column == "algorithm" || column == "workload") return "/" + column + "/name";
  if (column == "workers" || column == "nodes") return "/cluster/" + column;
  return column == "batch" ? "/workload/batch" : "";
}

}  // namespace

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
