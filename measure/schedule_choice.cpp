#include "measure/schedule_choice.hpp"

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/reject.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/collectives/schedules.hpp"

namespace simsgd {

namespace {

std::string name_of(const Job& job, const Collective& collective) {
  if (!collective.schedule.empty()) return collective.schedule;
  const auto chosen = job.network.schedule.find(collective.op);
  return chosen == job.network.schedule.end() ? default_schedule(collective.op) : chosen->second;
}

Schedule schedule_of(const Job& job, const Collective& collective, const std::vector<int>& ranks) {
  if (collective.custom) return *collective.custom;
  const std::string name = name_of(job, collective);
  const SchedulePlugin* plugin = find_schedule(collective.op, name);
  CHECK(plugin != nullptr, fmt::format("there is no schedule {} for {}", name, op_name(collective.op)));
  try {
    return plugin->make({static_cast<int>(ranks.size()), collective.bytes, collective.root,
                         ranks_per_node(job.cluster, ranks)});
  } catch (const ParameterError& error) {
    throw RunError(
        fmt::format("The schedule {} cannot be used here: {}. {}.", name, error.problem, error.remedy));
  }
}

}  // namespace

double predicted_s(const Job& job, const Collective& collective, const std::vector<int>& ranks) {
  const Plan plan(schedule_of(job, collective, ranks), job.cluster, ranks, collective.bytes);
  return plan.sharing().dedicated ? plan.dedicated_time_s() : plan.contended_time_s();
}

void keep_what_arrives(const Job& job, const Collective& collective, const std::vector<int>& ranks,
                       std::int32_t place, std::vector<Values>& contributions) {
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
    if (!held[static_cast<std::size_t>(place)][j]) contributions[j] = {};
}

}  // namespace simsgd
