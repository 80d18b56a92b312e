// Whether messages of several senders to several receivers can meet on a link: not where each begins behind
// the end of the one before it, because who sends or receives it has heard of that end. A rank that leaves a
// stage knows what it and its partners knew when they entered it, and that its own messages have ended.
#include "sim/collectives/plan_turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/collectives/plan.hpp"

namespace simsgd {

namespace {

constexpr std::size_t kMostHeard = std::size_t{1} << 29;  // seconds of work; beyond it links count as shared

/// A message on a link; of a stage that happens several times in a row, the last one.
struct LinkTurn {
  std::size_t stage, sender, receiver;
};

/// Who hears that a message has ended, stage after stage.
class Hearsay {
 public:
  explicit Hearsay(const Schedule& schedule)
      : stages_(schedule.stages), asked_(static_cast<std::size_t>(schedule.ranks), 0) {}

  /// Whether one that takes part in `next`, of this operation or the one after it, knows before it begins
  /// that `last` has ended.
  bool reaches(const LinkTurn& last, const LinkTurn& next) {
    ++question_;
    heard_.clear();
    add(last.sender);
    add(last.receiver);
    for (std::size_t s = after(last.stage); !knows(next) && s != next.stage; s = after(s))
      if (!pass(stages_[s], next)) return false;
    return knows(next);
  }

 private:
  std::size_t after(std::size_t stage) const { return stage + 1 == stages_.size() ? 0 : stage + 1; }
  bool knows(const LinkTurn& turn) const {
    return asked_[turn.sender] == question_ || asked_[turn.receiver] == question_;
  }
  void add(std::size_t rank) {
    if (asked_[rank] == question_) return;
    asked_[rank] = question_;
    heard_.push_back(rank);
  }

  /// Whoever knows tells its partners of the stage. False: this has gone on for too long.
  bool pass(const Stage& stage, const LinkTurn& until) {
    for (int time = 0; time < stage.repeat && !knows(until); ++time) {
      const std::size_t before = heard_.size();
      for (std::size_t i = 0; i < before; ++i)
        for (const std::int32_t partner : {stage.to[heard_[i]], stage.from[heard_[i]]})
          if (partner >= 0) add(static_cast<std::size_t>(partner));
      if ((work_ += before) > kMostHeard) return false;
      if (heard_.size() == before) break;
    }
    return true;
  }

  const std::vector<Stage>& stages_;
  std::vector<std::size_t> asked_;  ///< by rank: the last question whose message it has heard of
  std::vector<std::size_t> heard_;  ///< the ranks that have heard of this question's
  std::size_t question_ = 0, work_ = 0;
};

}  // namespace

bool take_turns(const Schedule& schedule, const Cluster& cluster, const std::vector<int>& ranks,
                const std::vector<LinkId>& links) {
  std::vector<std::vector<LinkTurn>> turns(cluster.network.links.size());
  std::vector<LinkId> path;
  for (std::size_t s = 0; s < schedule.stages.size(); ++s)
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (schedule.stages[s].to[i] < 0) continue;
      const auto receiver = static_cast<std::size_t>(schedule.stages[s].to[i]);
      path.clear();
      cluster.network.route(cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])],
                            cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[receiver])], path);
      for (const LinkId id : path) turns[static_cast<std::size_t>(id)].push_back({s, i, receiver});
    }
  Hearsay hearsay(schedule);
  return std::all_of(links.begin(), links.end(), [&](LinkId id) {
    const std::vector<LinkTurn>& all = turns[static_cast<std::size_t>(id)];
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!hearsay.reaches(all[k], all[k + 1 == all.size() ? 0 : k + 1])) return false;
    return true;
  });
}

// What a plan knows of a concurrent schedule: all its messages may be on their way at once.

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
