// Failures: a worker crashes, is back after a while, and goes on from its last checkpoint. While it is up its
// crashes are a Poisson process, and others happen at instants that a scenario names. What a crash costs is
// the engine's (sim/engine/outages.hpp), what becomes of the replica the algorithm's (Worker::recover_by).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace simsgd {

struct FailureModel {
  struct Crash {
    int rank = 0;
    double time_s = 0;
  };

  double mean_time_between_s = std::numeric_limits<double>::infinity();  ///< of one worker, while it is up
  double restart_s = 0;                ///< from a crash until the worker computes again
  std::uint64_t checkpoint_every = 1;  ///< steps of the worker
  double checkpoint_s = 0;             ///< that it stops to write one
  std::vector<Crash> crashes;          ///< named ones; without effect where the worker is down

  /// Whether anything happens at all.
  bool any() const {
    return mean_time_between_s < std::numeric_limits<double>::infinity() || !crashes.empty() ||
           checkpoint_s > 0;
  }
  /// When a worker that is up since `up_s`, after so many crashes, crashes next; perhaps never (infinity). A
  /// pure function: two algorithms meet the same times between failures.
  double next_crash_s(std::uint64_t seed, int rank, std::uint64_t crashes_before, double up_s) const;
};

}  // namespace simsgd
