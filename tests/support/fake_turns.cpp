#include "tests/support/fake_turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::test {

FakeTurns::FakeTurns(int ranks, bool needs_others) : needs_others_(needs_others), all_(index(ranks)) {}

void FakeTurns::run(const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(all_.size()); ++rank) {
    threads.emplace_back([this, rank, &body] {
      try {
        await_turn(rank);
        body(rank);
      } catch (const FakeRunOver&) {
      } catch (...) {
        fail();
      }
      end(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void FakeTurns::fail() {
  if (!failure_) failure_ = std::current_exception();
}

void FakeTurns::end(int rank) {
  all_[index(rank)].state = State::ended;
  try {
    do_agenda();
    give_turn_to_next(rank);
  } catch (...) {
    fail();
    give_turn_to_next(rank);
  }
}

void FakeTurns::wait_for_any(int rank, std::span<const Awaited> handles) {
  CHECK(!in_background_, "a background handler tried to wait");
  Rank& self = all_[index(rank)];
  for (const Awaited& handle : handles) self.waits_for.push_back(handle.pending());
  self.state = State::waiting;
  pass_turn(rank);
  self.waits_for.clear();
}

void FakeTurns::let_others(int rank) { pass_turn(rank); }

void FakeTurns::wait_for_end(int rank) {
  all_[index(rank)].state = State::at_end;
  pass_turn(rank);
}

void FakeTurns::pass_turn(int rank) {
  do_agenda();
  give_turn_to_next(rank);
  await_turn(rank);
}

void FakeTurns::await_turn(int rank) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == rank; });
  all_[index(rank)].state = State::ready;
  if (failure_) std::rethrow_exception(failure_);
  if (over_) throw FakeRunOver();
}

void FakeTurns::do_agenda() {
  if (std::exchange(in_background_, true)) return;
  try {
    while (!agenda_.empty()) {
      const auto action = std::move(agenda_.front());
      agenda_.pop_front();
      action();
    }
  } catch (...) {
    in_background_ = false;
    throw;
  }
  in_background_ = false;
}

bool FakeTurns::can_go_on(const Rank& rank) const {
  if (rank.state == State::ended) return false;
  return over_ || failure_ || rank.state == State::ready ||
         std::any_of(rank.waits_for.begin(), rank.waits_for.end(),
                     [](const Pending* pending) { return pending->known(); });
}

// The next that can go on after `rank`; false: all have ended.
bool FakeTurns::give_turn_to_next(int rank) {
  const int count = static_cast<int>(all_.size());
  do {
    for (int i = 1; i <= count; ++i) {
      const int next = (rank + i) % count;
      if (!can_go_on(all_[index(next)])) continue;
      const std::lock_guard lock(mutex_);
      turn_ = next;
      changed_.notify_all();
      return true;
    }
  } while (make_something_happen());
  return false;
}

bool FakeTurns::make_something_happen() {
  if (!timers_.empty()) {
    const auto next = timers_.extract(timers_.begin());
    now_s_ = std::max(now_s_, next.key());
    next.mapped().pending()->complete(now_s_);
    do_agenda();
    return true;
  }
  bool happened = false;
  for (Rank& rank : all_) {
    if (rank.state != State::at_end) continue;
    rank.state = State::ready;
    happened = true;
  }
  if (happened) return true;
  if (std::all_of(all_.begin(), all_.end(), [](const Rank& rank) { return rank.state == State::ended; }))
    return false;
  give_up();
  return true;
}

// Nothing will ever happen again.
void FakeTurns::give_up() {
  over_ = true;
  if (!needs_others_) return;
  std::string who;
  for (std::size_t rank = 0; rank < all_.size(); ++rank)
    if (all_[rank].state == State::waiting)
      who += fmt::format("{}{} (step {}) for {}", who.empty() ? "" : ", ", rank, all_[rank].step,
                         all_[rank].waits_for.front()->what);
  failure_ = std::make_exception_ptr(RunError(fmt::format(
      "Nothing is left to happen, and these ranks wait for ever: {}. The algorithm's ranks do not agree on what they exchange.",
      who)));
}

Handle<Nothing> FakeTurns::start_timer(double seconds) {
  const auto timer = Handle<Nothing>::make();
  timer.pending()->what = "a timer";
  timers_.emplace(now_s_ + seconds, timer);
  return timer;
}

}  // namespace simsgd::test
