// Schedules simulated by themselves, without workers: `simsgd bench` at `flows` and `messages`. With SimGrid
// one call per process.
#pragma once

#include <vector>

#include "sim/collectives/plan.hpp"
#include "sim/engine/time_keeper.hpp"

namespace simsgd {

struct PlanToSimulate {
  const Plan* plan = nullptr;
  Fidelity fidelity = Fidelity::messages;  ///< or flows
};

/// Time of each plan from a common arrival to its last end, one after another on an idle network. `jitter`
/// may be null, and its operation counts the plans.
std::vector<double> simulate_plans(const Cluster& cluster, const std::vector<PlanToSimulate>& plans,
                                   const JitterDraws* jitter, Contention contention = Contention::own);

}  // namespace simsgd
