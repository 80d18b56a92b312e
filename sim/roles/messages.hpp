// Messages between two ranks, which both ask for them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/handle.hpp"
#include "sim/job.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/record.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

/// What travels from one rank to another.
struct Message {
  double bytes = 0;  ///< as the workload counts them
  Traffic traffic = Traffic::control;
  Tensor values{};
  std::vector<double> numbers{};  ///< small plain data: a version, a weight
  int from = -1;                  ///< filled on arrival
  CodedPart part{};
  CodingTimes times{};  ///< the machine's
};

/// Matched by (from, to, tag) in the order sent; a transfer begins when both sides have asked for it.
class Messages {
 public:
  explicit Messages(Completion& completion) : completion_(completion) {}
  virtual ~Messages() = default;

  Handle<Nothing> start_send(int to, int tag, Message message);
  virtual Handle<Message> start_receive(int from, int tag) = 0;

  // Blocking.
  void send(int to, int tag, Message message) { completion_.wait(start_send(to, tag, std::move(message))); }
  Message receive(int from, int tag) {
    const Handle<Message> handle = start_receive(from, tag);
    completion_.wait(handle);
    return handle.result();
  }

  /// As for Collectives.
  void code_by(MessageCoder* coder) { coder_ = coder; }

 protected:
  /// Of what travels.
  virtual Handle<Nothing> begin_send(int to, int tag, Message message) = 0;

 private:
  Completion& completion_;
  MessageCoder* coder_ = nullptr;
};

/// What a collective's member contributes: its entries alone.
Tensor contribution_of(Executor& executor, const AnyCollective& collective);

// Background: what goes on while the main thread computes or waits. Handlers and actions are called outside
// the main thread, in the order of time; they take no time and must not wait or compute, but may do
// everything else, and see and set the replica atomically.

class Background {
 public:
  virtual ~Background() = default;

  /// Calls `handler` for every message that is posted to this rank with `tag`.
  virtual void serve(int tag, std::function<void(const Message&)> handler) = 0;
  /// Sends a message to a rank that serves `tag`; nobody waits.
  void post(int to, int tag, Message message);
  /// As for Collectives.
  void code_by(MessageCoder* coder) { coder_ = coder; }
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

 protected:
  /// Of what travels.
  virtual void begin_post(int to, int tag, Message message) = 0;

 private:
  MessageCoder* coder_ = nullptr;
};

}  // namespace simsgd
