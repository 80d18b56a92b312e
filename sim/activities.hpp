// The closed lists of what a worker does and of what messages are for, each said once: documents, metrics,
// summaries and timelines are made from these tables.
#pragma once

#include <array>

#include "sim/record.hpp"

namespace simsgd {

struct ActivityInfo {
  Activity activity;
  const char* name;        ///< its metric is "<name>_s"
  const char* label;       ///< in summaries
  const char* definition;  ///< a sentence that begins with "Per step: ", without these words
  bool occupies_device;
  bool of_every_method;  ///< others are those of methods that declare them (AlgorithmUses)
};
/// In the order of the enumeration.
const std::array<ActivityInfo, kActivities>& activities();

/// The device works at its own pace: communication beside it slows it, and a crash loses it.
bool occupies_device(Activity activity);

struct TrafficInfo {
  Traffic traffic;
  const char* name;    ///< its metrics are "<name>_communication_exposed_s", ...
  const char* plural;  ///< in definitions: "gradients"
};
/// In the order of the enumeration.
const std::array<TrafficInfo, kTraffics>& traffics();

/// The metrics of one of them: "communication_exposed_s", "gradient_communication_hidden_s".
std::string activity_metric(Activity activity);
std::string exposed_metric(Traffic traffic);
std::string hidden_metric(Traffic traffic);

}  // namespace simsgd
