// Whether messages of several senders to several receivers can meet on a link: not where each begins behind
// the end of the one before it, because who sends or receives it has heard of that end. A rank that leaves a
// stage knows what it and its partners knew when they entered it, and that its own messages have ended.
#include "sim/collectives/plan_turns.hpp"

#include <algorithm>
#include <map>

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

}  // namespace simsgd
