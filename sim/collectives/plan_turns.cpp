// Whether messages of several senders to several receivers can meet on a link: not where each begins behind
// the end of the one before it, because who sends or receives it has heard of that end. A rank that leaves a
// stage knows what it and its partners knew when they entered it, and that its own messages have ended.
#include "sim/collectives/plan_turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/collectives/plan.hpp"

namespace simsgd {

namespace {

using Bits = std::vector<std::uint64_t>;  // a bit for each link

constexpr std::size_t kWordBits = 64;
constexpr std::size_t kMostWords = 1U << 22;  // 32 MB of what ranks know; beyond it links count as shared

bool has(const Bits& bits, std::size_t k) { return (bits[k / kWordBits] >> (k % kWordBits) & 1) != 0; }
void set(Bits& bits, std::size_t k) { bits[k / kWordBits] |= std::uint64_t{1} << (k % kWordBits); }

/// A message of a stage on one of the links.
struct LinkTurn {
  std::size_t sender, receiver, link;
};

/// What each rank knows: on which links the last message so far has ended.
class Heard {
 public:
  Heard(std::size_t ranks, std::size_t links)
      : by_rank_(ranks, Bits((links + kWordBits - 1) / kWordBits)), used_(by_rank_.front().size()) {}

  /// The ranks go through a stage once. False where a message may meet the one before it on its link.
  bool pass(const Stage& stage, const std::vector<LinkTurn>& turns) {
    const auto may_meet = [this](const LinkTurn& each) {
      return has(used_, each.link) && !has(by_rank_[each.sender], each.link) &&
             !has(by_rank_[each.receiver], each.link);
    };
    if (std::any_of(turns.begin(), turns.end(), may_meet)) return false;
    std::vector<Bits> after = by_rank_;
    Bits now(used_.size());
    for (const LinkTurn& each : turns) set(now, each.link);
    for (std::size_t i = 0; i < after.size(); ++i) {
      for (const std::int32_t partner : {stage.to[i], stage.from[i]})
        for (std::size_t w = 0; partner >= 0 && w < now.size(); ++w)
          after[i][w] |= by_rank_[static_cast<std::size_t>(partner)][w];
      for (std::size_t w = 0; w < now.size(); ++w) after[i][w] &= ~now[w];
    }
    for (std::size_t w = 0; w < now.size(); ++w) used_[w] |= now[w];
    for (const LinkTurn& each : turns) {
      set(after[each.sender], each.link);
      set(after[each.receiver], each.link);
    }
    settled_ = after == by_rank_;
    by_rank_ = std::move(after);
    return true;
  }
  /// Whether the last pass told nobody anything: another of the same stage will not either.
  bool settled() const { return settled_; }

 private:
  std::vector<Bits> by_rank_;
  Bits used_;
  bool settled_ = false;
};

}  // namespace

bool take_turns(const Schedule& schedule, const Cluster& cluster, const std::vector<int>& ranks,
                const std::vector<LinkId>& links) {
  if (ranks.size() * (links.size() / kWordBits + 1) > kMostWords) return false;
  std::map<LinkId, std::size_t> numbers;
  for (const LinkId id : links) numbers.emplace(id, numbers.size());
  std::vector<std::vector<LinkTurn>> turns(schedule.stages.size());
  std::vector<LinkId> path;
  for (std::size_t s = 0; s < turns.size(); ++s)
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (schedule.stages[s].to[i] < 0) continue;
      const auto receiver = static_cast<std::size_t>(schedule.stages[s].to[i]);
      path.clear();
      cluster.network.route(cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[i])],
                            cluster.endpoint_of_rank[static_cast<std::size_t>(ranks[receiver])], path);
      for (const LinkId id : path)
        if (const auto found = numbers.find(id); found != numbers.end())
          turns[s].push_back({i, receiver, found->second});
    }
  Heard heard(ranks.size(), links.size());
  for (int operation = 0; operation < 2; ++operation)
    for (std::size_t s = 0; s < turns.size(); ++s) {
      const Stage& stage = schedule.stages[s];
      for (int time = 0; time < stage.repeat; ++time) {
        if (!heard.pass(stage, turns[s])) return false;
        if (heard.settled()) break;
      }
    }
  return true;
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
