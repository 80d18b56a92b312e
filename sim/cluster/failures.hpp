// Failures: a worker crashes, is back after a while, and goes on from its last checkpoint. While it is up its
// crashes are a Poisson process, and others happen at instants that a scenario names. What a crash costs is
// told in sim/roles/crashes.hpp; what becomes of the replica is the algorithm's (Compute::recover_by).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

struct FailureModel {
  struct Crash {
    int rank = 0;
    double time_s = 0;

    void fields(Fields& f) {
      f.whole("worker", rank, "Rank of the worker that crashes").required();
      f.time("time", time_s, "The worker crashes at this time. If it is down already, nothing happens")
          .required()
          .above(0);
    }
  };

  double mean_time_between_s = std::numeric_limits<double>::infinity();
  double restart_s = 0;
  std::uint64_t checkpoint_every = 1;
  double checkpoint_s = 0;
  std::vector<Crash> crashes;

  void fields(Fields& f) {
    f.time("mean_time_between", mean_time_between_s,
           "Mean time between failures of one worker while it is up; drawn from an exponential distribution")
        .above(0)
        .by_rule("none: workers do not crash by themselves")
        .example("\"10 h\"");
    f.time("restart", restart_s, "A worker computes again this long after a crash");
    f.whole("checkpoint_every", checkpoint_every, "A worker writes a checkpoint every this many steps")
        .at_least(1);
    f.time("checkpoint", checkpoint_s, "Writing a checkpoint stops the worker for this long");
    f.objects("crashes", crashes, "Workers crash at these times", "A crash");
  }

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
