#include "sim/collectives/schedules.hpp"

#include "sim/base/check.hpp"
#include "sim/collectives/schedules/tables.hpp"

namespace simsgd {

const std::vector<SchedulePlugin>& schedule_plugins() {
  static const std::vector<SchedulePlugin> table = {
      ring_all_reduce(),
      recursive_doubling_all_reduce(),
      rabenseifner_all_reduce(),
      tree_all_reduce(),
      hierarchical_all_reduce(),
      ring_reduce_scatter(),
      recursive_halving_reduce_scatter(),
      ring_all_gather(),
      bruck_all_gather(),
      tree_broadcast(),
      scatter_all_gather_broadcast(),
      tree_reduce(),
      dissemination_barrier(),
  };
  return table;
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
