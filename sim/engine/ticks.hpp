// When a negotiated operation begins: at ceil(t / cycle) cycle + agreement, its last member handing it over
// at t (negotiator.hpp). By itself, for what costs operations without a run.
#pragma once

#include <cmath>

#include "sim/base/instants.hpp"
#include "sim/cluster/cluster.hpp"

namespace simsgd {

/// The tick that takes what is handed over at `ready_s`. Rounding is no reason to miss one: (k cycle) / cycle
/// may be a little more than k.
inline double tick_s(const Negotiation& loop, double ready_s) {
  if (loop.cycle_s <= 0) return ready_s;
  const double before_s = std::floor(ready_s / loop.cycle_s) * loop.cycle_s;
  return not_after(ready_s, before_s) ? before_s : std::ceil(ready_s / loop.cycle_s) * loop.cycle_s;
}

}  // namespace simsgd
