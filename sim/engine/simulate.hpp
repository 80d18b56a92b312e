// Runs a job in the simulator.
#pragma once

#include <functional>
#include <vector>

#include "sim/base/interrupts.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/engine/time_keeper.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/record.hpp"
#include "sim/recording/timeline.hpp"

namespace simsgd {

struct SimulationOptions {
  int threads = 1;  ///< for the numerics
  std::function<void(std::uint64_t)>
      progress;                        ///< called with the number of the step that rank 0 ended; may be empty
  std::function<bool()> interrupted;   ///< asked at each step of rank 0; true ends the run with Interrupted
  std::vector<Observer*> observers{};  ///< who else listens
  bool timeline = false;               ///< the one that the job asks for; else there is none
  MakeTimeKeeper time = own_time;      ///< or SimGrid's, once per process
};

struct SimulationResult {
  RunRecord record;
  Timeline timeline;
};

/// The most workers that can be simulated: a stack's address space each, of the 2^47 bytes that a process
/// has.
inline constexpr int kMostSimulatedWorkers = 1 << 20;

/// Throws RunError (deadlock, divergence), Interrupted, InternalError.
SimulationResult simulate(const Job& job, const SimulationOptions& options);

// Schedules simulated by themselves, without workers: `simsgd bench` at `flows` and `messages`.

struct PlanToSimulate {
  const Plan* plan = nullptr;
  Fidelity fidelity = Fidelity::messages;  ///< or flows
};

/// Time of each plan from a common arrival to its last end, one after another on an idle network. `jitter`
/// may be null, and its operation counts the plans.
std::vector<double> simulate_plans(const Cluster& cluster, const std::vector<PlanToSimulate>& plans,
                                   const JitterDraws* jitter);

}  // namespace simsgd
