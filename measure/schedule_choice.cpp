#include "measure/schedule_choice.hpp"

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/reject.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {

std::string name_of(const Job& job, CollectiveOp op, const CollectiveOptions& options) {
  if (!options.schedule.empty()) return options.schedule;
  const auto chosen = job.network.schedule.find(op);
  return chosen == job.network.schedule.end() ? default_schedule(op) : chosen->second;
}

Schedule schedule_of(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  if (const auto* custom = std::get_if<CustomCollective>(&collective); custom && custom->messages)
    return *custom->messages;
  const CollectiveOp op = op_of(collective);
  const CollectiveOptions& options = options_of(collective);
  const std::string name = name_of(job, op, options);
  const SchedulePlugin* plugin = find_schedule(op, name);
  CHECK(plugin != nullptr, fmt::format("there is no schedule {} for {}", name, op_name(op)));
  try {
    return plugin->make({static_cast<int>(ranks.size()), options.bytes, root_of(collective),
                         ranks_per_node(job.cluster, ranks)});
  } catch (const ParameterError& error) {
    throw RunError(
        fmt::format("The schedule {} cannot be used here: {}. {}.", name, error.problem, error.remedy));
  }
}

}  // namespace

double predicted_s(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  const Plan plan(schedule_of(job, collective, ranks), job.cluster, ranks, options_of(collective).bytes);
  return plan.sharing().dedicated ? plan.dedicated_time_s() : plan.contended_time_s();
}

void keep_what_arrives(const Job& job, const CustomCollective& collective, const std::vector<int>& ranks,
                       std::int32_t group_rank, std::vector<Tensor>& contributions) {
  const Schedule schedule = schedule_of(job, collective, ranks);
  const std::size_t members = ranks.size();
  // held[i][j]: what member i sends in the next stage has something of member j's in it.
  std::vector<std::vector<bool>> held(members, std::vector<bool>(members, false));
  for (std::size_t i = 0; i < members; ++i) held[i][i] = true;
  for (const Stage& stage : schedule.stages) {
    for (int time = 0; time < stage.repeat; ++time) {
      const std::vector<std::vector<bool>> before = held;
      for (std::size_t i = 0; i < members; ++i) {
        if (stage.to[i] < 0) continue;
        std::vector<bool>& receiver = held[static_cast<std::size_t>(stage.to[i])];
        for (std::size_t j = 0; j < members; ++j) receiver[j] = receiver[j] || before[i][j];
      }
    }
  }
  for (std::size_t j = 0; j < members; ++j)
    if (!held[static_cast<std::size_t>(group_rank)][j]) contributions[j] = {};
}

}  // namespace simsgd
