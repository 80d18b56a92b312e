// Background: what goes on while the main thread computes or waits. Handlers and actions are called outside
// the main thread, in the order of time; they take no time and must not wait or compute, but may do
// everything else, and see and set the replica atomically.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/roles/messages.hpp"

namespace simsgd {

class Background {
 public:
  virtual ~Background() = default;

  /// Calls `handler` for every message that is posted to this rank with `tag`.
  virtual void serve(int tag, std::function<void(const Message&)> handler) = 0;
  /// Sends a message to a rank that serves `tag`; nobody waits.
  virtual void post(int to, int tag, Message message) = 0;
  /// Calls `action` when `handle` is complete.
  virtual void then(Awaited handle, std::function<void()> action) = 0;

  /// Flooding: a number spreads over all ranks from whoever floods it first, by binomial trees rooted at
  /// each: rank x, when it hears in phase j, tells x + 2^i mod P for every i > j (its own call is phase -1),
  /// each once. `heard` is called for each number of `tag` that others flood. False where this machine has no
  /// shorter way than posting these messages.
  virtual bool hear(int tag, std::function<void(std::uint64_t number)> heard) = 0;
  virtual void flood(int tag, std::uint64_t number) = 0;

  /// Something to wait for that is complete once `signal` is called for it, by this rank.
  virtual Handle<Nothing> make_event() = 0;
  virtual void signal(const Handle<Nothing>& event) = 0;
  /// Something to wait for that is complete `seconds` from now.
  virtual Handle<Nothing> start_timer(double seconds) = 0;
};

}  // namespace simsgd
