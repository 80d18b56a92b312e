// Handles: what an algorithm holds of something that it has started and that is perhaps not finished. A
// handle has the type of what it gives: what a receive brings cannot be asked of an all-reduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace simsgd {

/// Whoever sleeps until an operation's end is known.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// The end of something waited for has become known.
  virtual void wake() = 0;
};

/// What a machine knows of something under way.
struct Pending {
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  double end_s = kUnknown;   ///< when it ends, on the machine's clock; may lie in the future, once known
  std::int32_t channel = 0;  ///< index in the worker's ledger
  bool under_way = false;    ///< all that it depends on have come (known on real machines only)
  std::string what;          ///< "all_reduce among 4": for the sentence of a stall; empty in the simulation
  Waiter* waiter = nullptr;
  std::vector<std::function<void(double)>> on_known;  ///< called with end_s when it becomes known

  bool known() const { return end_s != kUnknown; }
  void complete(double when_s) {
    end_s = when_s;
    if (waiter) waiter->wake();
    if (on_known.empty()) return;
    for (const auto& action : std::exchange(on_known, {})) action(when_s);
  }
};

template <class Result>
struct PendingOf : Pending {
  Result result{};
};

/// The result of what only ends: a message sent, a barrier, an event, a timer.
struct Nothing {};

template <class Result>
class Handle {
 public:
  Handle() = default;
  /// Shared by the algorithm and the machine that will complete it.
  explicit Handle(std::shared_ptr<PendingOf<Result>> pending) : pending_(std::move(pending)) {}
  static Handle make() { return Handle(std::make_shared<PendingOf<Result>>()); }

  explicit operator bool() const { return pending_ != nullptr; }
  /// What came of it, once it has been waited for.
  const Result& result() const { return pending_->result; }
  /// For machines.
  const std::shared_ptr<PendingOf<Result>>& pending() const { return pending_; }
  bool operator==(const Handle&) const = default;

 private:
  std::shared_ptr<PendingOf<Result>> pending_;
};

/// Any handle, to be waited for.
class Awaited {
 public:
  template <class Result>
  Awaited(const Handle<Result>& handle) : pending_(handle.pending().get()) {}  // NOLINT: any handle will do
  Pending* pending() const { return pending_; }

 private:
  Pending* pending_;
};

/// Waiting: the one thing that every role builds on.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void wait(Awaited handle) = 0;
  /// Index of one that is complete, the first if several.
  virtual std::size_t wait_any(std::span<const Awaited> handles) = 0;
  virtual bool done(Awaited handle) = 0;
};

}  // namespace simsgd
