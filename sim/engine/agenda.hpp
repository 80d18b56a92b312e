// What is to happen when, with a rule for what happens first among things of the same instant
// (sim/base/instants.hpp):
//   completions before signals: a worker that is through at the instant at which it is told to stop is
//   through; then by the rank that it happens to, and by the rank that it comes from; then in the order in
//   which it was put down; and whoever looks on sees the instant when all of that has happened.
// A signal that is put down while those of its instant are served comes after them.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "sim/engine/earliest.hpp"

namespace simsgd {

/// The place of something among what happens at the same instant.
struct Turn {
  enum class Kind : std::uint8_t {
    completion,  ///< a worker's main thread goes on: it has computed, or waited for a time
    signal,      ///< a message, news, the end of an operation, an action in the background
    after        ///< nothing of the model: an evaluation, the end of the run
  } kind = Kind::signal;
  std::int32_t to = -1, from = -1;  ///< ranks; -1: of none, which comes first
  auto operator<=>(const Turn&) const = default;
};

class Agenda {
 public:
  using Action = std::function<void()>;

  /// Nothing will be put down for an instant before `now_s`.
  void put(double time_s, Turn turn, Action action, double now_s = 0);
  /// The earliest time that was put down and not served; infinity if none is left.
  double next_s() const;
  /// Takes what is due at `now_s` in order: all of one kind, the first that is due; nothing where that is
  /// later than `latest`. In the place of what the batch holds.
  struct Batch {
    Turn::Kind kind = Turn::Kind::signal;
    std::vector<Action> actions;
  };
  void take(double now_s, Turn::Kind latest, Batch& batch);
  /// The last `take` left something of the same instant.
  bool more_due() const { return left_; }
  /// Nothing of the model is left.
  bool idle() const { return waiting_ + due_.size() == after_; }

 private:
  static constexpr std::uint32_t kNoPlace = 0xffffffff;
  struct Held {
    std::uint64_t turn = 0;  // as a number
    Action action;
    std::uint64_t number = 0;
    std::uint32_t next = kNoPlace;
  };
  // What decides its place in the instant, beside it.
  struct Due {
    std::uint64_t turn = 0, number = 0;
    double time_s = 0;
    std::uint32_t place = 0;
  };
  static std::uint64_t as_number(const Turn& turn);
  void falls_due(double time_s, std::uint32_t place);

  Earliest first_;           // places in held_, each the first of a chain, all of that time
  std::size_t waiting_ = 0;  // actions in these chains
  double chain_s_ = -1;      // of the chain that was put down last, if that still waits
  std::uint32_t chain_end_ = kNoPlace;
  // Of the instant that is being served, or comes next: what is put down for it takes no way through the
  // heap.
  std::vector<Due> due_;
  std::vector<Held> held_;
  std::vector<std::uint32_t> free_;  // places in held_
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  double due_s_ = kNever;  // the earliest of due_
  double instant_s_ = -1;  // that is being served
  bool left_ = false;      // the last take left something of it
  bool in_order_ = true;   // due_ is
  std::uint64_t put_ = 0;
  std::size_t after_ = 0;  // of those that are left
};

}  // namespace simsgd
