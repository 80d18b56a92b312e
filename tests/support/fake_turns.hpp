// Ranks that are threads, of which one runs at a time: until it waits, ends a step or is through. So handlers
// that one rank calls for another never meet that other at work, and a run is the same each time. Where no
// rank can go on, timers end in the order of time; then the ranks that have done all their steps return; and
// where that does not help either, the others wait for ever.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "sim/handle.hpp"

namespace simsgd::test {

/// The run is over while a rank waits, which nobody minds (Algorithm::needs_others).
struct FakeRunOver {};

class FakeTurns {
 public:
  FakeTurns(int ranks, bool needs_others);

  /// Calls `body(rank)` on a thread for each. Rethrows what a rank throws first; RunError where ranks wait
  /// for ever and need each other.
  void run(const std::function<void(int rank)>& body);

  // For the rank whose turn it is.
  void wait_for_any(int rank, std::span<const Awaited> handles);
  void let_others(int rank);
  /// Returns once nothing else is left to do for anybody.
  void wait_for_end(int rank);
  void begin_step(int rank, std::uint64_t step) { all_[index(rank)].step = step; }
  bool ended(int rank) const { return all_[index(rank)].state == State::ended; }

  /// In the background, in this order; soon.
  void later(std::function<void()> action) { agenda_.push_back(std::move(action)); }
  void do_agenda();
  bool in_background() const { return in_background_; }

  double now() const { return now_s_; }  ///< moved by timers alone
  Handle<Nothing> start_timer(double seconds);

 private:
  enum class State { ready, waiting, at_end, ended };
  struct Rank {
    State state = State::ready;
    std::vector<Pending*> waits_for{};
    std::uint64_t step = 0;
  };
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void pass_turn(int rank);
  bool give_turn_to_next(int rank);
  bool can_go_on(const Rank& rank) const;
  bool make_something_happen();
  void give_up();
  void await_turn(int rank);
  void end(int rank);
  void fail();

  std::mutex mutex_;  // of turn_: everything else is the running rank's
  std::condition_variable changed_;
  int turn_ = 0;
  bool needs_others_;
  std::vector<Rank> all_;
  std::deque<std::function<void()>> agenda_;
  bool in_background_ = false;
  double now_s_ = 0;
  std::multimap<double, Handle<Nothing>> timers_;
  std::exception_ptr failure_;
  bool over_ = false;
};

}  // namespace simsgd::test
