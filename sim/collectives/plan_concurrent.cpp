// What a plan knows of a concurrent schedule: all its messages may be on their way at once.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/collectives/plan.hpp"

namespace simsgd {

namespace {

struct Load {
  std::int32_t sender = -1, receiver = -1;
  bool one_sender = true, one_receiver = true;
  int flows = 0;
  double bytes = 0;

  void add(std::int32_t from, std::int32_t to, double message_bytes) {
    one_sender = one_sender && (sender < 0 || sender == from);
    one_receiver = one_receiver && (receiver < 0 || receiver == to);
    sender = from;
    receiver = to;
    ++flows;
    bytes += message_bytes;
  }
};

/// The links of every message, in the order of stages and senders.
std::vector<std::vector<LinkId>> message_paths(const Schedule& schedule, const Cluster& cluster,
                                               const std::vector<int>& ranks) {
  std::vector<std::vector<LinkId>> paths;
  for (const Stage& stage : schedule.stages) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (stage.to[i] < 0) continue;
      const int receiver = ranks[static_cast<std::size_t>(stage.to[i])];
      cluster.network.route(cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])],
                            cluster.endpoint_of_rank[static_cast<std::size_t>(receiver)],
                            paths.emplace_back());
    }
  }
  return paths;
}

}  // namespace

void Plan::analyse_concurrent_links(const Cluster& cluster, const std::vector<int>& ranks) {
  const std::vector<Link>& links = cluster.network.links;
  const std::vector<std::vector<LinkId>> paths = message_paths(schedule_, cluster, ranks);
  std::vector<Load> loads(links.size());
  auto path = paths.begin();
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = schedule_.stages[s];
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (stage.to[i] >= 0)
        for (const LinkId id : *path++)
          loads[static_cast<std::size_t>(id)].add(static_cast<std::int32_t>(i), stage.to[i],
                                                  stages_[s].wire(i));
  }
  // Even shares: what each message gets if all messages on a link divide it.
  double least = std::numeric_limits<double>::infinity(), most = 0, slowest = 0;
  path = paths.begin();
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = schedule_.stages[s];
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (stage.to[i] < 0) continue;
      double share = std::numeric_limits<double>::infinity();
      for (const LinkId id : *path++)
        share = std::min(share, links[static_cast<std::size_t>(id)].bandwidth_Bps /
                                    loads[static_cast<std::size_t>(id)].flows);
      least = std::min(least, share);
      most = std::max(most, share);
      slowest = std::max(slowest, stages_[s].alpha_s[i] + stages_[s].wire(i) / share);
    }
  }
  sharing_.equal_shares = most <= least * (1 + 1e-12);
  contended_time_s_ = host_before_s_ + library_.measured_s.value_or(slowest) + host_after_s_;
  for (std::size_t id = 0; id < loads.size(); ++id) {
    const Load& load = loads[id];
    if (load.flows == 0) continue;
    sharing_.most_flows = std::max(sharing_.most_flows, load.flows);
    sharing_.dedicated = sharing_.dedicated && (load.one_sender || load.one_receiver);
    link_bytes_.emplace_back(static_cast<LinkId>(id), load.bytes);
  }
}

/// Why the ends of a concurrent schedule may be too early at `closed` and `steps`; empty where they are
/// exact.
std::string Plan::doubt_about_ports() const {
  if (!schedule_.concurrent || sharing_.most_flows <= 1) return "";
  if (!sharing_.equal_links || !sharing_.equal_shares)
    return "the messages of a rank share its links, and a partner's may be slower or busier";
  if (!schedule_.together) return "the messages of a rank share its links: exact when all arrive together";
  return "";
}

FidelityChoice Plan::choose_for_concurrent(bool jitter) const {
  const std::string doubt = doubt_about_ports();
  if (is_alone() && doubt.empty()) {
    if (schedule_.together && !jitter)
      return {Fidelity::closed, true, "ranks share no link but their own; all begin together"};
    return {Fidelity::steps, true, "no link carries two messages at once"};
  }
  if (schedule_.messages() <= kFewMessages) return {Fidelity::messages, true, who_shares()};
  if (is_alone()) return {Fidelity::steps, false, doubt};
  return {Fidelity::flows, true, who_shares() + "; every message happens once"};
}

}  // namespace simsgd
