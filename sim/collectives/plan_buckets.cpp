// What a plan knows of the token buckets of the NICs that it sends through.
#include <algorithm>
#include <map>

#include "sim/collectives/plan.hpp"

namespace simsgd {

void Plan::find_buckets(const Cluster& cluster, const std::vector<int>& ranks) {
  bucket_ = cluster.network.between.bucket();
  std::map<LinkId, std::int32_t> found;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    std::vector<std::int32_t> of_sender(ranks.size(), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::int32_t receiver = schedule_.stages[s].to[i];
      if (receiver < 0) continue;
      const int from = cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])];
      const auto to_rank = static_cast<std::size_t>(ranks[static_cast<std::size_t>(receiver)]);
      const int to = cluster.endpoint_of_rank[to_rank];
      if (cluster.network.has_bucket(from, to))
        of_sender[i] =
            found.try_emplace(cluster.network.bucket_link(from, to), std::ssize(found)).first->second;
    }
    if (std::all_of(of_sender.begin(), of_sender.end(), [](std::int32_t each) { return each < 0; })) continue;
    stages_[s].buckets = std::move(of_sender);
    stages_[s].bucket = bucket_;
  }
  buckets_ = static_cast<int>(found.size());
}

// What they hold when an operation begins depends on what was sent before it: only messages one by one see
// that.
FidelityChoice Plan::choose_with_buckets(Fidelity asked) const {
  const std::string why = "NICs have token buckets";
  const std::string full = ", taken to be full when an operation begins";
  const std::string doubt = asked == Fidelity::automatic ? "" : "asked for, but approximate: ";
  if (asked == Fidelity::messages) return {asked, true, "asked for"};
  if (asked == Fidelity::automatic && schedule_.messages() <= kFewMessages)
    return {Fidelity::messages, true, why};
  if (asked == Fidelity::automatic && sharing_.dedicated) return {Fidelity::steps, false, why + full};
  if (asked == Fidelity::closed || asked == Fidelity::steps) return {asked, false, doubt + why + full};
  if (!aggregates()) return {Fidelity::flows, true, why + "; every stage happens once"};
  return {Fidelity::flows, false, doubt + why + ", and a ring's messages are aggregated"};
}

}  // namespace simsgd
