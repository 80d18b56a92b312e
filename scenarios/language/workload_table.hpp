// The workload as it is written, before a device gives it times.
#pragma once

#include <optional>
#include <vector>

#include "scenarios/language/layer_times.hpp"
#include "scenarios/language/reader.hpp"

namespace simsgd {

struct WorkloadTable {
  Workload workload;  ///< all but the layers and what depends on the device
  LayerTable layers;
  std::vector<OneDeviceTime> one_device;
  double own_batch = 1;               ///< samples with which the layers' own times were measured
  std::optional<Device> measured_on;  ///< the device of these
  double forward_gap_s = 0,
         backward_gap_s = 0;   ///< of each pass, beside own times: the device waits for its host
  bool step_is_given = false;  ///< by "step_time" or "step_cost": the layers are equal parts of it
};

/// The section "workload"; own times of layers per sample, for the measured time that `device` uses. Nothing
/// where it is "self" or something is wrong, which is reported.
std::optional<WorkloadTable> read_workload(const Reader& reader, const std::string& device);

/// "workload": "self": the layers of the learner's model.
WorkloadTable workload_of(const Learner& learner);

}  // namespace simsgd
