// What a worker has started in the simulation: known or unknown when it will end.
#pragma once

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "sim/worker.hpp"

namespace simsgd {

/// Whoever sleeps until an operation's end is known.
class Waiter {
 public:
  virtual ~Waiter() = default;
  /// The end of something waited for has become known.
  virtual void wake() = 0;
};

struct SimPending final : Pending {
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  double end_s = kUnknown;   ///< when it ends; may lie in the future, once known
  std::int32_t channel = 0;  ///< index in the worker's ledger
  Values result;
  std::vector<Values> gathered;
  Message message;
  Waiter* waiter = nullptr;
  std::vector<std::function<void(double)>> on_known;  ///< called with end_s when it becomes known

  bool known() const { return end_s != kUnknown; }
  void complete(double when_s) {
    end_s = when_s;
    if (waiter) waiter->wake();
    for (const auto& action : std::exchange(on_known, {})) action(when_s);
  }
};

}  // namespace simsgd
