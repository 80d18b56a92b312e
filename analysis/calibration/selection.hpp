// Which measurements: conditions on their columns, as specs write them.
//   {"bytes": {"at_least": "64 KiB", "power_of": 2}, "placement": "out_of_place", "workers": [2, 4]}
// or a list of such, of which one has to hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"
#include "traces/measurements.hpp"

namespace simsgd {

/// The column of a measurement as text: quantity, operation, workers, nodes, bytes, campaign, source, or a
/// label; nothing where it has none.
std::optional<std::string> column_of(const Measurement& measurement, const std::string& column);

/// "network,workers": several columns together.
std::vector<std::string> columns_of(const std::string& names);

/// A condition on one column.
struct Condition {
  std::string column;
  std::string text;                   ///< what holds of it, as the spec writes it
  std::vector<std::string> among;     ///< one of these; empty: any
  std::vector<std::string> contains;  ///< one of these is a part of it; empty: any
  std::optional<double> at_least, at_most;
  double power_of = 0;  ///< a whole power of this; 0: any
  double no_power_of = 0;

  bool holds(const Measurement& measurement) const;
};

class Selection {
 public:
  Selection() = default;
  /// Throws ParameterError about the object.
  explicit Selection(const Json& json);

  bool holds(const Measurement& measurement) const;
  bool empty() const { return conditions_.empty() && any_of_.empty(); }
  /// And that a column has a value.
  Selection with(const std::string& column, const std::string& value) const;
  /// All have to hold, and one of any_of() where there are some.
  const std::vector<Condition>& conditions() const { return conditions_; }
  const std::vector<Selection>& any_of() const { return any_of_; }
  /// For errors: each condition, of how many measurements it holds, and the values that they have.
  std::string shown(const std::vector<Measurement>& all) const;

  /// As a field of a spec: kept as JSON until `settle`, which throws ParameterError about the object.
  Field& field(Fields& f, std::string_view key, const std::string& meaning);
  void settle();

 private:
  RawValue written_;
  std::vector<Condition> conditions_;
  std::vector<Selection> any_of_;
};

// Columns of measurements that a scenario tells too. What is fitted for some measurements only is written
// into a cluster with the scenarios that it is for, so a condition on any other column cannot be written.

/// As scenarios are asked (pointer: value, list, or at_least and at_most); nothing where a condition is of
/// measurements alone.
std::optional<Json> where_of(const Selection& selection);

/// The first column that no scenario can be asked about, or only in another way; "" where there is none.
std::string column_of_measurements(const Selection& selection);

/// For error texts.
inline constexpr const char* kScenarioColumns = "algorithm, workload, workers, nodes or batch";

}  // namespace simsgd
