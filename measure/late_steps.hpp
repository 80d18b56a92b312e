// Steps that ended after the run was over: a rank goes on
// until the news of the end has come (common_end.hpp). As in the simulation they do not count, nor does what
// they took. When the run was over is known for certain only once all ranks have said when their steps ended.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/recording/ledger.hpp"

namespace simsgd {

class LateSteps final : public Observer {
 public:
  /// Of the rank whose ledger it is; attached behind it. The run's time is up at `time_s`.
  explicit LateSteps(const Ledger& ledger, double time_s = std::numeric_limits<double>::infinity())
      : ledger_(ledger), time_s_(time_s) {}

  void step_began(int rank, std::uint64_t step, double now_s) override;
  void step_ended(const StepEnd& end) override;

  /// Collective. When the run was over: the end of the step with which there were enough, or `known_s` (its
  /// time was up), where that is earlier.
  double agree(MPI_Comm world, const StopRule& stop, double known_s) const;
  /// How many steps of this rank ended after `over_s`.
  std::uint64_t after(double over_s) const;
  /// The ledger's record without them. Ages that were noted do count: what others used of this rank is
  /// theirs.
  WorkerRecord without(double over_s) const;

 private:
  struct Step {
    double begin_s = 0, end_s = 0, samples = 0;
    WorkerRecord before;  // the record at its begin
    double busy_s = 0;    // of the device, in it
  };
  const Ledger& ledger_;
  double time_s_;
  std::optional<Step> open_;
  std::deque<Step> last_;  // after time_s_, or no more than end while a small message is on its way
  std::uint64_t earlier_steps_ = 0;
  double earlier_samples_ = 0;
};

}  // namespace simsgd
