// Names of the closed sets of records, as scenario files, metrics and tables write them.
#include <array>

#include "sim/record.hpp"

namespace simsgd {

std::string activity_name(Activity activity) {
  static constexpr std::array<const char*, kActivities> kNames = {
      "compute", "straggle", "selection", "factor", "inverse", "host", "communication_exposed", "wait"};
  return kNames[static_cast<std::size_t>(activity)];
}

std::string traffic_name(Traffic traffic) {
  static constexpr std::array<const char*, kTraffics> kNames = {"gradient", "model", "factor", "inverse",
                                                                "control"};
  return kNames[static_cast<std::size_t>(traffic)];
}

}  // namespace simsgd
