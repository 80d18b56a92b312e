#include "bench/bare_merges.hpp"

#include <numeric>
#include <stdexcept>

#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "sim/collectives/plan.hpp"

namespace simsgd::bench {

BareMerges bare_merges(const Job& job) {
  SparsificationOptions options;
  options.density = 0.001;
  AlgorithmContext context;
  context.workers = job.workers();
  context.workload = &job.workload;
  context.cluster = &job.cluster;
  options.complete(context);
  const SparsificationSettings settings = sparsification_of(options, context);
  const double entries = settings.message_entries(0), bytes = entries * settings.bytes_per_entry;
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const MergeScheduleRequest request{.workers = job.workers(),
                                     .entries = entries,
                                     .bytes_per_entry = settings.bytes_per_entry,
                                     .merge_s = settings.merge_s};
  const Plan plan(merge_schedule(request), job.cluster, ranks, bytes, 0);
  if (job.cluster.device.communication_slowdown > 0)
    throw std::runtime_error("the bare program knows computing that nothing slows");
  BareMerges merges;
  merges.message_bytes = bytes;
  merges.any_meet = !plan.sharing().dedicated;
  merges.after_s = plan.host_after_s();
  for (const StageCosts& stage : plan.stage_costs())
    for (std::size_t from = 0; from < ranks.size(); ++from)
      if (const std::int32_t to = stage.stage->to[from]; to >= 0)
        merges.merges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                                 stage.message_s(from), stage.reduce_s});
  for (const int rank : ranks)
    merges.before_s.push_back((settings.accumulate_s + settings.selection_s.front()) /
                                  job.cluster.speed_of_rank(rank) +
                              settings.crossing_s + plan.host_before_s());
  return merges;
}

}  // namespace simsgd::bench
