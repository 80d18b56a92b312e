// The table of metrics: name, unit, definition and how each is computed. Documents, results, reports and
// `expected` speak of metrics by these names alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/job.hpp"
#include "sim/record.hpp"

namespace simsgd {

// Which way a metric is better.

enum class Better { neither, less, more };

struct Metric {
  std::string name;
  std::string unit;        ///< "s", "1/s", "B", "1", "USD", "J"
  std::string definition;  ///< one or two sentences for people; says when there is no value
  /// Nothing where the metric has no value for the run.
  std::function<std::optional<double>(const RunRecord& record, const Job& job)> value;
  Better better = Better::neither;  ///< what comparisons call an advantage
};

/// In the order in which they are shown.
const std::vector<Metric>& metrics();

struct MetricValue {
  std::string name;
  double value = 0;
};

/// Those that have a value (a number that is finite), and after them the record's extra ones by name.
std::vector<MetricValue> metric_values(const RunRecord& record, const Job& job);

}  // namespace simsgd
