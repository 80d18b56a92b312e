#include "sim/collectives/schedules.hpp"

#include <nlohmann/json.hpp>

namespace simsgd {

Schedule SchedulePlugin::make(const ScheduleRequest& request) const {
  return Plugin::make(Json::object(), request);
}

std::string default_schedule(CollectiveOp op) {
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == op) return plugin.info.name;
  return {};
}

const SchedulePlugin* find_schedule(CollectiveOp op, const std::string& name) {
  for (const SchedulePlugin& plugin : schedule_plugins())
    if (plugin.op == op && plugin.info.name == name) return &plugin;
  return nullptr;
}

}  // namespace simsgd
