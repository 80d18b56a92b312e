// Runs a job in the simulator. One run per process: SimGrid 3.32 cannot start a second engine cleanly, so a
// sweep forks.
#pragma once

#include <functional>
#include <string>

#include "sim/base/interrupts.hpp"
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
};

struct SimulationResult {
  RunRecord record;
  Timeline timeline;
};

/// The most workers that can be simulated: an actor each, and Linux allows a process 65,530 memory maps by
/// default (vm.max_map_count), of which an actor takes two.
inline constexpr int kMostSimulatedWorkers = 30000;

/// Throws RunError (deadlock, divergence), Interrupted, InternalError. After an error the process should end:
/// SimGrid's actors are still on their stacks.
SimulationResult simulate(const Job& job, const SimulationOptions& options);

std::string simgrid_version();

}  // namespace simsgd
