// Schedules of collectives by name: which messages, in which steps. One file each under schedules/; this is
// their table.
#pragma once

#include <string>
#include <vector>

#include "sim/collectives/operation.hpp"
#include "sim/collectives/schedule.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What a schedule is made for. m = bytes, P = ranks.
struct ScheduleRequest {
  int ranks = 1;
  double bytes = 0;  ///< as CollectiveOptions::bytes
  int root = 0;      ///< broadcast, reduce
  int ranks_per_node =
      1;  ///< consecutive ranks that share a node, 0 if that differs between nodes (hierarchical)
  double piece_bytes = 0;  ///< that a network passes on at once, of schedules that pipeline
  /// How many times as long a byte takes between nodes as inside one, of schedules that do both at once;
  /// 0: not known, and one comes after the other.
  double between_over_inside = 0;
};

struct SchedulePlugin : Plugin<Schedule, const ScheduleRequest&> {
  SchedulePlugin(PluginInfo about, CollectiveOp op_in, std::string formula_in,
                 Schedule (*maker)(const ScheduleRequest&))
      : Plugin(std::move(about), maker), op(op_in), formula(std::move(formula_in)) {}

  /// Throws ParameterError where the schedule cannot be made for the request.
  Schedule make(const ScheduleRequest& request) const;

  CollectiveOp op;
  std::string formula;  ///< closed form of its time on equal, dedicated links, for people
};

const std::vector<SchedulePlugin>& schedule_plugins();
/// The schedule that an operation uses when the scenario names none.
std::string default_schedule(CollectiveOp op);
/// What each rank sends in a double binary tree over nodes: up to its parent and down to its children.
std::vector<double> sent_in_two_trees(int nodes, int per_node, double bytes);
/// Null if there is none of that name for the operation.
const SchedulePlugin* find_schedule(CollectiveOp op, const std::string& name);

}  // namespace simsgd
