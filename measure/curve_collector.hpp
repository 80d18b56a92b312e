// Brings what each rank knows of its steps to rank 0, where the learning curves of the run are: the same
// LearningCurve as in the simulation. Its collective functions block; they are called where all ranks meet,
// while the clock of the run stands still.
#pragma once

#include <mpi.h>

#include <deque>
#include <memory>
#include <vector>

#include "measure/common_end.hpp"
#include "sim/job.hpp"
#include "sim/recording/learning_curve.hpp"

namespace simsgd {

class CurveCollector final : public Observer {
 public:
  /// `model`: with which this rank begins.
  CurveCollector(const Job& job, Executor& executor, Tensor model, MPI_Comm world);

  void gradient_used(int rank, std::uint64_t step, const Tensor& gradient, double samples) override;
  /// Throws RunError where a loss of the step is not finite.
  void step_ended(const StepEnd& end) override;

  /// Whether all ranks have to meet after they have completed `step`.
  bool meets_after(std::uint64_t step) const;
  /// Collective. What was recorded since the last call goes to rank 0, with each rank's model.
  void gather();
  /// Collective, after gather. Whether the rule for stopping holds: no rank would begin a step before the
  /// last instant, or the target is met. Where evaluations are by the clock, one is made of the models as
  /// they were gathered once all ranks have passed its instant.
  bool run_is_over(double now_s);
  /// Instead of gather, at the end, where workers do not need each other: what counts is what was completed
  /// before the run was over, in the order of time, and the models that were kept meanwhile are evaluated.
  void gather_alone(const CommonEnd& end, double over_s);
  /// On rank 0, at the end: evaluates what was not yet. Throws RunError where a loss is not finite.
  /// `at_instant`: the run was over then, wherever its ranks were.
  void finish(double end_s, bool at_instant, RunRecord& record);

 private:
  struct Entry {
    std::uint64_t step = 0;
    double time_s = 0;
    double loss_sum = 0;
    std::uint64_t losses = 0;
  };
  std::vector<std::vector<Entry>> gather_entries();
  std::vector<Tensor> gather_models(const Tensor& own);
  std::vector<ModelAtInstant> gather_instant(const ModelAtInstant& own);
  void report(int rank, const Entry& entry, const Tensor& model);
  void settle_losses(std::uint64_t step);
  void evaluate_by_clock(double first_s, double last_s);
  void replay(const std::vector<std::vector<Entry>>& entries, const std::vector<Tensor>& models);

  const Job& job_;
  Executor& executor_;  // the worker's
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<Entry> entries_;  // of steps completed since the last gathering
  Entry current_;
  std::vector<Tensor> used_;    // gradients whose loss is not in `current_`: perhaps not computed yet
  Tensor model_;                // as it was at the end of the last step
  Executor curve_executor_{1};  // apart from the workers': evaluations take no time of theirs
  std::unique_ptr<LearningCurve> curve_;  // of rank 0
  std::vector<ModelAtInstant> gathered_;  // on rank 0, at the last gathering
  std::uint64_t evaluations_by_clock_ = 0;
  std::deque<std::vector<ModelAtInstant>> kept_;  // of workers that do not need each other, to be evaluated
};

}  // namespace simsgd
