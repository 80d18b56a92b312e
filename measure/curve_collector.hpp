// Brings what each rank knows of its steps to rank 0, where the learning curves of the run are: the same
// LearningCurve as in the simulation. Its collective functions block; they are called where all ranks meet,
// while the clock of the run stands still.
#pragma once

#include <mpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <vector>

#include "measure/common_end.hpp"
#include "measure/packing.hpp"
#include "sim/base/errors.hpp"
#include "sim/job.hpp"
#include "sim/recording/learning_curve.hpp"

namespace simsgd {

class CurveCollector final : public Observer {
 public:
  /// `model`: with which this rank begins.
  CurveCollector(const Job& job, Executor& executor, Tensor model, MPI_Comm world)
      : job_(job), executor_(executor), model_(std::move(model)) {
    MPI_Comm_dup(world, &world_);
    MPI_Comm_rank(world_, &rank_);
    if (rank_ != 0) return;
    std::function<std::vector<ModelAtInstant>()> now;
    if (!job_.algorithm->needs_others())
      now = [this] {
        if (kept_.empty()) return gathered_;
        std::vector<ModelAtInstant> models = std::move(kept_.front());
        kept_.pop_front();
        return models;
      };
    curve_ = std::make_unique<LearningCurve>(job_, curve_executor_, now);
    gathered_.resize(static_cast<std::size_t>(job_.workers()));
  }

  // The one before has been computed; this one is about to be, and its time is to be booked.
  void gradient_used(int, std::uint64_t step, const Tensor& gradient, double) override {
    settle_losses(step);
    if (gradient) used_.push_back(gradient);
  }
  /// Throws RunError where a loss of the step is not finite.
  void step_ended(const StepEnd& end) override {
    settle_losses(end.step);
    current_.step = end.step;
    current_.time_s = end.end_s;
    entries_.push_back(current_);
    current_ = {};
    model_ = end.model;
  }

  /// Whether all ranks have to meet after they have completed `step`.
  bool meets_after(std::uint64_t step) const {
    if (!job_.algorithm->needs_others()) return false;
    const bool decides =
        std::isfinite(job_.stop.time_s) || job_.target.stop || job_.record.evaluate_every_s > 0;
    const std::uint64_t every = job_.record.evaluate_every;
    return decides || (step > 0 && every > 0 && step % every == 0 && job_.learner);
  }

  /// Collective. What was recorded since the last call goes to rank 0, with each rank's model.
  void gather() {
    const std::vector<std::vector<Entry>> entries = gather_entries();
    const std::vector<Tensor> models = gather_models(model_);
    if (rank_ == 0) replay(entries, models);
  }
  /// Collective, after gather. Whether the rule for stopping holds: no rank would begin a step before the
  /// last instant, or the target is met. Where evaluations are by the clock, one is made of the models as
  /// they were gathered once all ranks have passed its instant.
  bool run_is_over(double now_s) {
    double first_s = 0, last_s = 0;
    MPI_Allreduce(&now_s, &first_s, 1, MPI_DOUBLE, MPI_MIN, world_);
    MPI_Allreduce(&now_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, world_);
    evaluate_by_clock(first_s, last_s);
    int target_met = curve_ && job_.target.stop && curve_->target_met_s() ? 1 : 0;
    MPI_Bcast(&target_met, 1, MPI_INT, 0, world_);
    return first_s >= job_.stop.time_s || target_met != 0;
  }

  /// Instead of gather, at the end, where workers do not need each other: what counts is what was completed
  /// before the run was over, in the order of time, and the models that were kept meanwhile are evaluated.
  /// A notice may have come too late to one of them: what not everybody has kept is left out.
  void gather_alone(const CommonEnd& end, double over_s) {
    std::uint64_t kept = end.kept().size(), by_all = 0;
    MPI_Allreduce(&kept, &by_all, 1, MPI_UINT64_T, MPI_MIN, world_);
    std::vector<double> times_s;
    for (std::uint64_t n = 0; n < by_all; ++n) {
      kept_.push_back(gather_instant(end.kept()[n].state));
      times_s.push_back(end.kept()[n].time_s);
    }
    gathered_ = gather_instant({entries_.empty() ? 0 : entries_.back().step, model_});
    const std::vector<std::vector<Entry>> of_ranks = gather_entries();
    if (rank_ != 0) return;
    struct Completed {
      int rank;
      Entry entry;
    };
    std::vector<Completed> completed;
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
      for (const Entry& entry : of_ranks[rank])
        if (entry.time_s <= over_s) completed.push_back({static_cast<int>(rank), entry});
    std::stable_sort(completed.begin(), completed.end(),
                     [](const Completed& a, const Completed& b) { return a.entry.time_s < b.entry.time_s; });
    for (const Completed& each : completed)
      report(each.rank, each.entry, gathered_[static_cast<std::size_t>(each.rank)].model);
    if (job_.record.evaluate_every_s > 0 && job_.learner)
      for (const double time_s : times_s) {
        if (kept_.empty()) break;
        curve_->evaluate(time_s, kept_.front());
        kept_.pop_front();
      }
    kept_.clear();
  }

  /// On rank 0, at the end: evaluates what was not yet. Throws RunError where a loss is not finite.
  /// `at_instant`: the run was over then, wherever its ranks were.
  void finish(double end_s, bool at_instant, RunRecord& record) {
    curve_->finish(end_s, at_instant ? LearningCurve::End::instant : LearningCurve::End::steps, record);
  }

 private:
  struct Entry {
    std::uint64_t step = 0;
    double time_s = 0;
    double loss_sum = 0;
    std::uint64_t losses = 0;
  };
  std::vector<std::vector<Entry>> gather_entries() {
    return gather_at_root(world_, std::exchange(entries_, {}));
  }
  // Equal models share a handle, as they do in the simulation: their distance is 0.
  std::vector<Tensor> gather_models(const Tensor& own) {
    std::vector<Tensor> models(static_cast<std::size_t>(job_.workers()));
    if (!job_.learner) return models;
    std::vector<std::vector<float>> all = gather_at_root(world_, executor_.get(own).values);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const bool equal = rank > 0 && all[rank] == all[0];
      models[rank] =
          equal ? models[0] : curve_executor_.constant({rank > 0 ? std::move(all[rank]) : all[0], {}, {}});
    }
    return models;
  }

  std::vector<ModelAtInstant> gather_instant(const ModelAtInstant& own) {
    const std::vector<Tensor> models = gather_models(own.model);
    const auto steps = gather_at_root(world_, std::vector<std::uint64_t>{own.step});
    std::vector<ModelAtInstant> all;
    for (std::size_t rank = 0; rank < steps.size(); ++rank)
      all.push_back({steps[rank].front(), models[rank]});
    return all;
  }

  void report(int rank, const Entry& entry, const Tensor& model) {
    for (std::uint64_t n = 0; n < entry.losses; ++n) {
      const double mean = entry.loss_sum / static_cast<double>(entry.losses);
      curve_->gradient_used(rank, entry.step, curve_executor_.constant({{}, {}, {mean}}), 0);
    }
    curve_->step_ended({.rank = rank, .step = entry.step, .end_s = entry.time_s, .model = model});
  }

  void settle_losses(std::uint64_t step) {
    for (const Tensor& gradient : std::exchange(used_, {})) {
      const double loss = executor_.get(gradient).scalars.front();
      if (!std::isfinite(loss))
        throw RunError(fmt::format(
            "The training loss of rank {} is {} at step {}: training diverged. Lower the learning rate, or check the data.",
            rank_, loss, step));
      current_.loss_sum += loss;
      ++current_.losses;
    }
  }

  void evaluate_by_clock(double first_s, double last_s) {
    const double every_s = job_.record.evaluate_every_s;
    if (!(every_s > 0) || last_s > job_.stop.time_s ||
        first_s < static_cast<double>(evaluations_by_clock_ + 1) * every_s)
      return;
    evaluations_by_clock_ = static_cast<std::uint64_t>(first_s / every_s);
    if (curve_ && job_.learner) curve_->evaluate(last_s, gathered_);
  }

  // Step by step, so that the curve keeps no step open for long. Only the last step can be one that is
  // evaluated, so the models are right where they are looked at.
  void replay(const std::vector<std::vector<Entry>>& entries, const std::vector<Tensor>& models) {
    std::size_t most = 0;
    for (const std::vector<Entry>& of_rank : entries) most = std::max(most, of_rank.size());
    for (std::size_t i = 0; i < most; ++i) {
      for (std::size_t rank = 0; rank < entries.size(); ++rank) {
        if (i >= entries[rank].size()) continue;
        const Entry& entry = entries[rank][i];
        if (entry.time_s > job_.stop.time_s) continue;
        report(static_cast<int>(rank), entry, models[rank]);
        gathered_[rank] = {entry.step, models[rank]};
      }
    }
  }

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
