// Parallel aggregated trees: each rank's block goes down a binomial tree of its own, all trees at once, so
// that a step joins the blocks of many; a reduction the same way backwards. Any P.
//   all-gather, reduce-scatter  ceil(log2 P) alpha + (P-1)/P m beta
// Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv:2506.20252, as
// in NCCL 2.23 and later, which sends far blocks first and bounds what a step joins by its buffers: what that
// costs is the library's ("rank_latency"). Here the steps are those of Bruck's all-gather (bruck.cpp), and
// the same reversed in time.
#include <algorithm>

#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

namespace {

constexpr const char* kPatSource = "Jeaugey, arXiv:2506.20252";

/// Rank r sends `sent` blocks: the first of its own to r - distance; or towards r + distance those that are
/// that rank's and the next ones', summed up so far.
Stage make_step(const ScheduleRequest& request, int distance, bool adds) {
  const int ranks = request.ranks, sent = std::min(distance, ranks - distance);
  const int shift = adds ? distance : ranks - distance;
  std::vector<std::int32_t> to(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) to[static_cast<std::size_t>(i)] = (i + shift) % ranks;
  const double bytes = request.bytes / ranks * sent;
  return make_stage(std::move(to), bytes, adds ? bytes : 0, 1,
                    {adds, [=](std::int32_t rank, std::int32_t) {
                       return BlockRange{adds ? (rank + distance) % ranks : rank, sent};
                     }});
}

Schedule make_pat(const ScheduleRequest& request, bool adds) {
  Schedule schedule{"pat", request.ranks, {}, true, false};
  schedule.ends_together = power_of_two_below(request.ranks) == request.ranks;
  schedule.blocks = request.ranks;
  for (int distance = 1; distance < request.ranks; distance *= 2)
    schedule.stages.push_back(make_step(request, distance, adds));
  if (adds) std::reverse(schedule.stages.begin(), schedule.stages.end());
  return schedule;
}

}  // namespace

std::vector<SchedulePlugin> pat() {
  return {{{"pat", "trees of all blocks at once; few steps, least bytes, any P", kPatSource},
           CollectiveOp::all_gather,
           "ceil(log2 P) alpha + (P-1)/P m beta",
           [](const ScheduleRequest& request) { return make_pat(request, false); }},
          {{"pat", "partial sums up trees of all blocks at once; few steps, least bytes, any P", kPatSource},
           CollectiveOp::reduce_scatter,
           "ceil(log2 P) alpha + (P-1)/P m beta",
           [](const ScheduleRequest& request) { return make_pat(request, true); }}};
}

}  // namespace simsgd::schedules
