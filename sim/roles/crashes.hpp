// The crashes of one worker, and what it loses by them. A crash strikes while the worker computes a gradient
// (one that falls into another time strikes when the next gradient begins); the gradient in progress is lost
// and computed again once the worker is back.
//   recompute  the worker also computes again what it had computed since its last checkpoint, takes as long
//   as
//              the first time, and is then where it was: its replica is unchanged. For methods whose others
//              wait, or whose state must not go back.
//   rejoin     it goes on at once with the replica of its checkpoint: what it had learned since is lost.
// Time lost: the gradient in progress + restart + (recompute) the computing since the checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/failures.hpp"

namespace simsgd {

/// What a worker does after a crash, once it has restarted.
enum class Recovery : std::uint8_t {
  recompute,  ///< computes again what it had computed since its last checkpoint; its replica is then as it
              ///< was
  rejoin,     ///< goes on at once with the replica of its checkpoint: what it had learned since is lost
};

class Crashes {
 public:
  struct Outage {
    double crash_s = 0;
    double up_s = 0;        ///< it has restarted
    double ready_s = 0;     ///< and recomputed what it must
    double progress_s = 0;  ///< computing that was in progress
  };
  struct Totals {
    std::uint64_t crashes = 0;
    double lost_steps = 0;   ///< completed since the checkpoint, at each crash
    double lost_work_s = 0;  ///< computing of these steps, and in progress
    double downtime_s = 0;
  };

  Crashes(const FailureModel& model, std::uint64_t seed, int rank);

  void recover_by(Recovery recovery) { recovery_ = recovery; }
  Recovery recovery() const { return recovery_; }

  /// The crashes that hit a stretch of computing of `seconds` that begins at `from_s`, until one is through.
  std::vector<Outage> during(double from_s, double seconds) const;
  /// It has happened.
  void record(const Outage& outage);
  /// The worker has computed a gradient; ended a step; written a checkpoint.
  void computed(double seconds) { since_s_ += seconds; }
  void step_ended() { ++since_steps_; }
  void step_began() { in_step_.clear(); }
  void checkpoint();

  const Totals& totals() const { return totals_; }
  /// Without what happens after `over_s`: a worker may know its step's future.
  Totals totals(double over_s) const;

 private:
  const FailureModel& model_;
  std::uint64_t seed_;
  int rank_;
  Recovery recovery_ = Recovery::recompute;
  double next_crash_s_;
  double ready_s_ = 0;             // from the last crash
  double since_s_ = 0;             // computing since the checkpoint
  std::uint64_t since_steps_ = 0;  // steps completed since then
  Totals totals_;
  struct Loss {
    double crash_s = 0, up_s = 0, steps = 0, work_s = 0;
  };
  std::vector<Loss> in_step_;  // of the step in progress
};

/// Adds what a worker lost to the metrics of the run: crashes, lost_steps, lost_work_s, downtime_s.
void add_totals(const Crashes::Totals& totals, std::map<std::string, double>& metrics);

}  // namespace simsgd
