// Brings what each rank knows of its steps to rank 0, where the learning curves of the run are: the same
// LearningCurve as in the simulation. Its collective functions block; they are called where all ranks meet,
// while the clock of the run stands still.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "sim/job.hpp"
#include "sim/recording/learning_curve.hpp"

namespace simsgd {

class CurveCollector {
 public:
  CurveCollector(const Job& job, MPI_Comm world);

  /// This rank's mini-batch loss in `step`. Throws RunError where it is not finite.
  void loss(std::uint64_t step, double loss);
  void completed(std::uint64_t step, double time_s);

  /// Whether all ranks have to meet after they have completed `step`.
  bool meets_after(std::uint64_t step) const;
  /// Collective. What was recorded since the last call goes to rank 0, with each rank's model as it is now.
  void gather(Executor& executor, const Values& model);
  /// Collective, after gather. Whether the rule for stopping holds: no rank would begin a step before the
  /// last instant, or the target is met. Where evaluations are by the clock, one is made of the models as
  /// they were gathered once all ranks have passed its instant.
  bool run_is_over(double now_s);
  /// On rank 0, at the end: evaluates what was not yet. Throws RunError where a loss is not finite.
  void finish(double end_s, RunRecord& record);

 private:
  struct Entry {
    std::uint64_t step = 0;
    double time_s = 0;
    double loss_sum = 0;
    std::uint64_t losses = 0;
  };
  std::vector<std::vector<Entry>> gather_entries();
  std::vector<Values> gather_models(Executor& executor, const Values& model);
  void evaluate_by_clock(double first_s, double last_s);
  void replay(const std::vector<std::vector<Entry>>& entries, const std::vector<Values>& models);

  const Job& job_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<Entry> entries_;  // of steps completed since the last gathering
  Entry current_;
  Executor curve_executor_{1};            // apart from the workers': evaluations take no time of theirs
  std::unique_ptr<LearningCurve> curve_;  // of rank 0
  std::vector<ModelAtInstant> gathered_;  // on rank 0, at the last gathering
  std::uint64_t evaluations_by_clock_ = 0;
};

}  // namespace simsgd
