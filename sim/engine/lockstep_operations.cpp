// The operations of a lockstep run (lockstep_run.hpp): who starts them, when they end, and what ledgers are
// told of them.
#include <algorithm>

#include "sim/engine/lockstep_run.hpp"

namespace simsgd {

// The number of the next operation that the rank starts.
std::uint64_t LockstepRun::open(std::size_t rank, const Prepared& what) {
  const std::uint64_t number = ranks_[rank].started++;
  if (number - first_ < operations_.size()) return number;
  if (unused_.empty()) unused_.push_back(std::make_unique<Operation>());
  operations_.push_back(std::move(unused_.back()));
  unused_.pop_back();
  Operation& fresh = *operations_.back();
  fresh.what = &what;
  fresh.known = 0;
  const std::size_t parts = what.split.parts.size();
  if (fresh.parts.size() < parts) fresh.parts.resize(parts);  // else some keep their memory for the next
  for (std::size_t i = 0; i < parts; ++i) {
    fresh.parts[i].posted = 0;
    fresh.parts[i].known = false;
    fresh.parts[i].whole.posted_s.resize(world_.groups.ranks(what.split.parts[i]).size());
  }
  return number;
}

void LockstepRun::start(std::size_t rank, std::uint64_t number, const Seen& seen, double at_s) {
  Operation::Part& part = seen.part;
  part.whole.posted_s[seen.member] = at_s;
  const std::size_t ranks = as_many_as(rank);
  if (ranks > 1)
    for (const int other : alike_[rank]) part.whole.posted_s[static_cast<std::size_t>(other)] = at_s;
  part.posted += ranks;
  if (part.posted == part.whole.posted_s.size())
    all_started(number, static_cast<std::size_t>(&part - seen.operation.parts.data()));
}

// What the rank's device feels of the operation that it starts then.
Slowdown::Started LockstepRun::felt(const Seen& seen, double at_s) const {
  return {.channel = seen.prepared.ledger_channel(),
          .at_s = at_s,
          .seconds = seen.prepared.predicted_s(),
          .traffic = seen.operation.what->traffic};
}

// The operations of the rank that follow on that one, which is known.
void LockstepRun::start_following(std::size_t rank, std::uint64_t after) {
  Rank& state = ranks_[rank];
  while (!state.following.empty() && state.following.front().after == after) {
    const std::uint64_t number = state.following.front().number;
    const Seen seen = seen_by(rank, number);
    const double at_s = seen_by(rank, after).end_s();
    if (clocks_[rank]->is_slowed_by_communication()) state.upcoming.push_back(felt(seen, at_s));
    state.following.erase(state.following.begin());
    --following_;
    world_.transport.have_passed(as_many_as(rank), {});
    start(rank, number, seen, at_s);
  }
}

void LockstepRun::all_started(std::uint64_t number, std::size_t which) {
  Operation& started = operation(number);
  Operation::Part& part = started.parts[which];
  const Prepared& prepared = *started.what;
  options_of(prepared.what).group = prepared.split.parts[which];
  const std::vector<int>& ranks = world_.groups.ranks(prepared.split.parts[which]);
  const auto first_unheard = std::lower_bound(ranks.begin(), ranks.end(), static_cast<int>(heard_));
  const auto heard = static_cast<std::size_t>(first_unheard - ranks.begin());
  world_.collectives.run_whole(prepared.parts[which], prepared.what,
                               prepared.abreast ? &*prepared.abreast : nullptr, heard, part.whole);
  part.known = true;
  for (std::size_t member = heard; in_time_order_ && member < ranks.size(); ++member)
    tell(static_cast<std::size_t>(ranks[member]), number);
  if (simulated_.size() < clocks_.size()) part_ways(part);
  const std::vector<int>& members = in_time_order_ ? ranks : simulated_;
  for (std::size_t i = 0; i < members.size() && waiting_ > 0; ++i) {
    const auto rank = static_cast<std::size_t>(members[i]);
    if (ranks_[rank].awaits != number + 1) continue;
    ranks_[rank].awaits = 0;
    --waiting_;
    if (in_time_order_)
      due_.put(static_cast<std::uint32_t>(rank),
               std::max<double>(clocks_[rank]->local(), seen_by(rank, number).end_s()));
    else
      ready_.push_back(rank);
  }
  const bool last = ++started.known == prepared.split.parts.size();
  for (std::size_t i = 0; i < members.size() && following_ > 0; ++i)  // more may come
    start_following(static_cast<std::size_t>(members[i]), number);
  if (last) forget_operations();
}

// Those that no ledger is to be told of, and that no rank waits for any more.
void LockstepRun::forget_operations() {
  const auto first_needed = [this](const Rank& each) {
    std::uint64_t first = each.started > trace_.longest_wait ? each.started - trace_.longest_wait : 0;
    if (!in_time_order_) first = std::min(first, each.told);
    return each.following.empty() ? first : std::min(first, each.following.front().after);
  };
  if (first_needed(ranks_[behind_]) <= first_) return;
  std::uint64_t needed = first_ + operations_.size();
  for (const int rank : simulated_) {
    const std::uint64_t first = first_needed(ranks_[static_cast<std::size_t>(rank)]);
    if (first < needed) behind_ = static_cast<std::size_t>(rank);
    needed = std::min(needed, first);
  }
  for (; first_ < needed; ++first_) {
    unused_.push_back(std::move(operations_.front()));
    operations_.pop_front();
  }
}

bool LockstepRun::wait(std::size_t rank, std::size_t ago, bool idly) {
  Rank& state = ranks_[rank];
  const std::uint64_t number = state.started - ago;
  const Seen awaited = seen_by(rank, number);
  if (!awaited.part.known) {
    state.awaits = number + 1;
    ++waiting_;
    return false;
  }
  tell_ledger(rank, number + 1);
  const double until_s = awaited.end_s();
  if (hears(rank) || until_s > clocks_[rank]->local())
    clocks_[rank]->wait_until(until_s, idly ? 0 : awaited.prepared.ledger_channel());
  return true;
}

// Of the operations below that number, which all have started: ledgers of many ranks are not close by, so
// that each is told of several at once. In time order it has been told of each when that was known.
void LockstepRun::tell_ledger(std::size_t rank, std::uint64_t until) {
  if (in_time_order_) return;
  std::uint64_t& told = ranks_[rank].told;
  if (hears(rank)) told = std::max(told, until);
  for (; told < until; ++told) tell(rank, told);
}

void LockstepRun::tell(std::size_t rank, std::uint64_t number) {
  const Seen seen = seen_by(rank, number);
  const CollectiveEngine::Whole& whole = seen.part.whole;
  const Traffic traffic = seen.operation.what->traffic;
  Ledger& ledger = ledger_of(rank);
  ledger.operation(seen.prepared.ledger_channel(), whole.span(seen.member, traffic));
  ledger.sent(traffic, whole.plan->bytes_sent()[seen.member]);
}

}  // namespace simsgd
