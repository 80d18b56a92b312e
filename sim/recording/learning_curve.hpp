// The learning curves of a run: mean training loss of each step, and evaluations on the test set. Collects
// handles while the run goes on; numbers are asked for at the end, or where a target must be watched.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "sim/job.hpp"
#include "sim/record.hpp"

namespace simsgd {

/// Mean training loss of the last `window` points; infinity if there are fewer.
double recent_loss(std::span<const SeriesPoint> points, std::uint64_t window);

class LearningCurve {
 public:
  LearningCurve(const Job& job, Executor& executor);

  /// A gradient of worker `rank` was used in its step `step`; its tensor's first scalar is the mean loss.
  void loss(int rank, std::uint64_t step, const Values& gradient);
  /// Worker `rank` completed `step` at `time_s` with the model `model`.
  void completed(int rank, std::uint64_t step, double time_s, const Values& model);

  std::uint64_t steps_completed() const { return completed_; }  ///< by all workers
  /// True once the target has been met by a step that all workers completed.
  bool target_met();
  /// Evaluates the last models if they were not, and computes every number. Throws RunError where a loss is
  /// not finite.
  void finish(RunRecord& record);

 private:
  struct Step {
    int workers_done = 0;
    double time_s = 0;
    std::vector<Values> losses;  // by rank; scalars {sum of losses, number of losses}
    std::vector<Values> models;  // by rank, where this step is evaluated
  };
  struct PendingPoint {
    std::uint64_t step;
    double time_s;
    Values value;
  };
  Step& at(std::uint64_t step);
  void close(std::uint64_t number, Step& step);
  void evaluate(std::uint64_t step, double time_s, const std::vector<Values>& models);
  void settle_losses(std::size_t keep_pending);

  const Job& job_;
  Executor& executor_;
  int workers_;
  bool learns_;
  std::deque<Step> open_;  // steps not completed by all; the first is completed_ + 1
  std::uint64_t completed_ = 0;
  double completed_time_s_ = 0;
  std::vector<Values> last_models_;  // by rank, as last completed
  std::uint64_t evaluated_step_ = 0;
  std::deque<PendingPoint> pending_losses_, pending_evaluations_;
  std::vector<SeriesPoint> series_;
  std::vector<EvaluationPoint> evaluations_;
  bool target_met_ = false;
};

}  // namespace simsgd
