#include "measure/schedule_choice.hpp"

#include <algorithm>

#include "sim/stacks/policy.hpp"

namespace simsgd {

namespace {

Plan plan_of(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  const CollectiveOptions& options = options_of(collective);
  if (const auto* custom = std::get_if<CustomCollective>(&collective); custom && custom->messages)
    return Plan(*custom->messages, job.cluster, ranks, options.bytes);
  return plan_by_policy(job.network.collectives, job.cluster, ranks,
                        {op_of(collective), options.bytes, root_of(collective), 1, options.schedule});
}

}  // namespace

double predicted_s(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  return predicted_s(plan_of(job, collective, ranks));
}

Schedule scheduled(const Job& job, const AnyCollective& collective, const std::vector<int>& ranks) {
  Schedule schedule = plan_of(job, collective, ranks).schedule();
  return schedule.one_by_one ? schedule.one_by_one() : schedule;
}

bool carries_enough(const AnyCollective& collective, const Schedule& schedule) {
  const auto* custom = std::get_if<CustomCollective>(&collective);
  if (custom == nullptr || !custom->effect || custom->merging.merge) return true;
  const auto members = static_cast<std::size_t>(schedule.ranks);
  // By member: whose contributions it has.
  std::vector<std::vector<bool>> held(members, std::vector(members, false));
  for (std::size_t i = 0; i < members; ++i) held[i][i] = true;
  for (const Stage& stage : schedule.stages)
    for (int time = 0; time < stage.repeat; ++time) {
      const std::vector<std::vector<bool>> before = held;
      for (std::size_t i = 0; i < members; ++i) {
        if (stage.to[i] < 0) continue;
        const BlockRange range = stage.carried_by(static_cast<std::int32_t>(i), time);
        for (std::int32_t b = 0; b < range.count; ++b) {
          const std::size_t block = static_cast<std::size_t>(range.first + b) % members;
          if (!before[i][block]) return false;
          held[static_cast<std::size_t>(stage.to[i])][block] = true;
        }
      }
    }
  return std::all_of(held.begin(), held.end(), [](const std::vector<bool>& each) {
    return std::all_of(each.begin(), each.end(), [](bool b) { return b; });
  });
}

}  // namespace simsgd
