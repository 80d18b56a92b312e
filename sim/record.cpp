#include "sim/record.hpp"

namespace simsgd {

namespace {

constexpr std::array<ActivityInfo, kActivities> kActivityTable = {{
    {Activity::compute, "compute", "computing",
     "forward and backward passes and the optimizer at nominal speed.", true, true},
    {Activity::straggle, "straggle", "stragglers' delays", "what stragglers add to it.", false, true},
    {Activity::selection, "selection", "choosing entries", "choosing the entries of a sparse gradient.", true,
     false},
    {Activity::factor, "factor", "factors",
     "products and factorisations of matrices beside the gradient: factors, and what is preconditioned or compressed with them.",
     true, false},
    {Activity::inverse, "inverse", "inverses", "inverting matrices.", true, false},
    {Activity::host, "host", "host",
     "launching, packing, staging and other copies on the host, where the worker waits for them. What a receiver does at the end of a message (adding up, merging) is part of communication.",
     false, true},
    {Activity::communication, "communication_exposed", "communication, exposed",
     "waiting for bytes that are on their way, and computing slower because they are.", false, true},
    {Activity::wait, "wait", "waiting for others", "waiting for others that have not arrived yet.", false,
     true},
}};

constexpr std::array<TrafficInfo, kTraffics> kTrafficTable = {{
    {Traffic::gradient, "gradient", "gradients"},
    {Traffic::model, "model", "models"},
    {Traffic::factor, "factor", "factors"},
    {Traffic::inverse, "inverse", "inverses"},
    {Traffic::control, "control", "control messages"},
}};

constexpr bool tables_are_in_order() {
  for (std::size_t i = 0; i < kActivities; ++i)
    if (kActivityTable[i].activity != static_cast<Activity>(i)) return false;
  for (std::size_t i = 0; i < kTraffics; ++i)
    if (kTrafficTable[i].traffic != static_cast<Traffic>(i)) return false;
  return true;
}
static_assert(tables_are_in_order());

}  // namespace

const std::array<ActivityInfo, kActivities>& activities() { return kActivityTable; }
const std::array<TrafficInfo, kTraffics>& traffics() { return kTrafficTable; }

bool occupies_device(Activity activity) {
  return kActivityTable[static_cast<std::size_t>(activity)].occupies_device;
}

std::string activity_name(Activity activity) {
  return kActivityTable[static_cast<std::size_t>(activity)].name;
}
std::string traffic_name(Traffic traffic) { return kTrafficTable[static_cast<std::size_t>(traffic)].name; }

std::string activity_metric(Activity activity) { return activity_name(activity) + "_s"; }
std::string exposed_metric(Traffic traffic) { return traffic_name(traffic) + "_communication_exposed_s"; }
std::string hidden_metric(Traffic traffic) { return traffic_name(traffic) + "_communication_hidden_s"; }

}  // namespace simsgd
