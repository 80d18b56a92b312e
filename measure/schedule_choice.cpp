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

/// Rows by member: whose contributions it has once the schedule is through. `passes` says for every message
/// which of them it takes along; what the sender does not have then goes into `missing`.
struct Possession {
  std::vector<std::vector<bool>> held;
  bool missing = false;
};

template <class Passes>
Possession possession(const Schedule& schedule, const Passes& passes) {
  const auto members = static_cast<std::size_t>(schedule.ranks);
  Possession all{std::vector(members, std::vector(members, false))};
  for (std::size_t i = 0; i < members; ++i) all.held[i][i] = true;
  for (const Stage& stage : schedule.stages)
    for (int time = 0; time < stage.repeat; ++time) {
      const std::vector<std::vector<bool>> before = all.held;
      for (std::size_t i = 0; i < members; ++i) {
        if (stage.to[i] < 0) continue;
        std::vector<bool>& receiver = all.held[static_cast<std::size_t>(stage.to[i])];
        passes(stage, time, i, before[i], [&](std::size_t block) {
          all.missing = all.missing || !before[i][block];
          receiver[block] = receiver[block] || before[i][block];
        });
      }
    }
  return all;
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
  const Possession end =
      possession(schedule, [&](const Stage& stage, int time, std::size_t sender, const auto&, auto pass) {
        const BlockRange range = stage.carried_by(static_cast<std::int32_t>(sender), time);
        for (std::int32_t b = 0; b < range.count; ++b)
          pass(static_cast<std::size_t>(range.first + b) % static_cast<std::size_t>(schedule.ranks));
      });
  return !end.missing && std::all_of(end.held.begin(), end.held.end(), [](const std::vector<bool>& each) {
    return std::all_of(each.begin(), each.end(), [](bool b) { return b; });
  });
}

// What a member sends has something in it of all that it has heard of.
void keep_what_arrives(const Job& job, const CustomCollective& collective, const std::vector<int>& ranks,
                       std::int32_t group_rank, std::vector<Tensor>& contributions) {
  const Plan plan = plan_of(job, collective, ranks);
  const Possession end =
      possession(plan.schedule(), [](const Stage&, int, std::size_t, const auto& sender, auto pass) {
        for (std::size_t block = 0; block < sender.size(); ++block)
          if (sender[block]) pass(block);
      });
  for (std::size_t j = 0; j < contributions.size(); ++j)
    if (!end.held[static_cast<std::size_t>(group_rank)][j]) contributions[j] = {};
}

}  // namespace simsgd
