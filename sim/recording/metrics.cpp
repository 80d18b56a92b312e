#include "sim/recording/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "sim/recording/metric_tables.hpp"

namespace simsgd {

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> table = [] {
    std::vector<Metric> all = time_metrics();
    for (const std::vector<Metric>& more : {learning_metrics(), resource_metrics()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return table;
}

std::vector<MetricValue> metric_values(const RunRecord& record, const Job& job) {
  std::vector<MetricValue> values;
  for (const Metric& metric : metrics()) {
    const std::optional<double> value = metric.value(record, job);
    if (value && std::isfinite(*value)) values.push_back({metric.name, *value});
  }
  for (const auto& [name, value] : record.extra) {
    const bool known = std::any_of(metrics().begin(), metrics().end(),
                                   [&name = name](const Metric& metric) { return metric.name == name; });
    if (!known && std::isfinite(value)) values.push_back({name, value});
  }
  return values;
}

}  // namespace simsgd
