// The parts of the table of metrics, one per file.
#pragma once

#include <vector>

#include "sim/recording/metrics.hpp"

namespace simsgd {

std::vector<Metric>
time_metrics();  ///< throughput, the duration of a step and its parts, communication by kind
std::vector<Metric> learning_metrics();  ///< losses, accuracy, staleness, time to target
std::vector<Metric> resource_metrics();  ///< duration, memory, cost, energy

}  // namespace simsgd
