// "one_device" of a workload: measured times on one device, as they are written.
#pragma once

#include <vector>

#include "scenarios/language/layer_times.hpp"
#include "scenarios/language/workload_section.hpp"

namespace simsgd {

/// Without the entries that are wrong, which are reported: each says forward_backward, samples_per_s or
/// step_cost, one of them.
std::vector<OneDeviceTime> one_device_times(const Reader& reader,
                                            const std::vector<OneDeviceSection>& entries);

}  // namespace simsgd
