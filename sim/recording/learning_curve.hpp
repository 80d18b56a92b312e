// The learning curves of a run: mean training loss of each round (sim/recording/rounds.hpp), and evaluations
// of the models at an instant on the test set. Collects handles while the run goes on; numbers are asked for
// at the end, or where a target must be watched.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/job.hpp"
#include "sim/observer.hpp"
#include "sim/record.hpp"
#include "sim/recording/rounds.hpp"

namespace simsgd {

/// When the mean of the last `target.window` training losses or evaluations first reached the target; empty
/// if never. A single evaluation at the end of a run is not an arrival, unless reaching the target is what
/// ended it.
std::optional<double> arrival_s(const Target& target, std::span<const SeriesPoint> series,
                                std::span<const EvaluationPoint> evaluations);

class LearningCurve final : public Observer {
 public:
  /// `now` gives every worker's replica at the instant at which it is called; where it is empty, workers need
  /// each other, and all of them meet where a step is evaluated. Steps that end at one instant may come one
  /// after another: `later` waits for the last of them; where it is empty, there are none.
  LearningCurve(const Job& job, Executor& executor, std::function<std::vector<ModelAtInstant>()> now = {},
                const Later& later = {});

  void gradient_used(int rank, std::uint64_t step, const Tensor& gradient, double samples) override;
  void step_ended(const StepEnd& end) override;
  /// Evaluates these models, of all workers, which are those of `time_s`.
  void evaluate(double time_s, const std::vector<ModelAtInstant>& workers);

  std::uint64_t rounds_completed() const { return rounds_->complete(); }
  /// When the target was met, as far as is known now.
  std::optional<double> target_met_s();
  /// How the run ended: everywhere at the instant `end_s`, or each worker with its last step.
  enum class End : std::uint8_t { instant, steps };
  /// Evaluates the models at the end of the run if they were not, and computes every number. Throws RunError
  /// where a loss is not finite.
  void finish(double end_s, End end, RunRecord& record);

 private:
  struct PendingLoss {
    std::uint64_t round;
    double time_s;
    Tensor value;
  };
  struct PendingEvaluation {
    EvaluationPoint point;
    Tensor value;
  };
  void complete(Round round);
  void evaluate(std::uint64_t step, double time_s, const std::vector<ModelAtInstant>& workers);
  void settle(std::size_t keep_pending);

  const Job& job_;
  Executor& executor_;
  std::function<std::vector<ModelAtInstant>()> now_;
  std::unique_ptr<Rounds> rounds_;
  double last_round_s_ = 0;
  std::vector<ModelAtInstant> last_;  // by rank, as last completed
  double evaluated_s_ = -1;           // the last evaluation was of that instant
  std::uint64_t evaluated_step_ = 0;  // and of that step
  std::deque<PendingLoss> pending_losses_;
  std::deque<PendingEvaluation> pending_evaluations_;
  std::vector<SeriesPoint> series_;
  std::vector<EvaluationPoint> evaluations_;
  std::size_t series_seen_ = 0, evaluations_seen_ = 0;  // by target_met_s
  std::optional<double> target_met_s_;
};

}  // namespace simsgd
