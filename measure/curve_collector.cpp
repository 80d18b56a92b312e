#include "measure/curve_collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/gathering.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

CurveCollector::CurveCollector(const Job& job, Executor& executor, Tensor model, MPI_Comm world)
    : job_(job), executor_(executor), model_(std::move(model)) {
  MPI_Comm_dup(world, &world_);
  MPI_Comm_rank(world_, &rank_);
  if (rank_ != 0) return;
  curve_ = std::make_unique<LearningCurve>(job_, curve_executor_);
  gathered_.resize(static_cast<std::size_t>(job_.workers()));
}

// The one before has been computed; this one is about to be, and its time is to be booked.
void CurveCollector::gradient_used(int, std::uint64_t step, const Tensor& gradient, double) {
  settle_losses(step);
  if (gradient) used_.push_back(gradient);
}

void CurveCollector::settle_losses(std::uint64_t step) {
  for (const Tensor& gradient : std::exchange(used_, {})) {
    const double loss = executor_.get(gradient).scalars.front();
    if (!std::isfinite(loss))
      throw RunError(fmt::format(
          "The training loss of rank {} is {} at step {}: training diverged. Lower the learning rate, or "
          "check the data.",
          rank_, loss, step));
    current_.loss_sum += loss;
    ++current_.losses;
  }
}

void CurveCollector::step_ended(const StepEnd& end) {
  settle_losses(end.step);
  current_.step = end.step;
  current_.time_s = end.end_s;
  entries_.push_back(current_);
  current_ = {};
  model_ = end.model;
}

bool CurveCollector::meets_after(std::uint64_t step) const {
  const bool decides =
      std::isfinite(job_.stop.time_s) || job_.target.stop || job_.record.evaluate_every_s > 0;
  const std::uint64_t every = job_.record.evaluate_every;
  return decides || (step > 0 && every > 0 && step % every == 0 && job_.learner);
}

std::vector<std::vector<CurveCollector::Entry>> CurveCollector::gather_entries() {
  return gather_at_root(world_, std::exchange(entries_, {}));
}

// Equal models share a handle, as they do in the simulation: their distance is 0.
std::vector<Tensor> CurveCollector::gather_models() {
  std::vector<Tensor> models(static_cast<std::size_t>(job_.workers()));
  if (!job_.learner) return models;
  std::vector<std::vector<float>> all = gather_at_root(world_, executor_.get(model_).values);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const bool equal = rank > 0 && all[rank] == all[0];
    models[rank] =
        equal ? models[0] : curve_executor_.constant({rank > 0 ? std::move(all[rank]) : all[0], {}, {}});
  }
  return models;
}

void CurveCollector::gather() {
  const std::vector<std::vector<Entry>> entries = gather_entries();
  const std::vector<Tensor> models = gather_models();
  if (rank_ == 0) replay(entries, models);
}

void CurveCollector::evaluate_by_clock(double first_s, double last_s) {
  const double every_s = job_.record.evaluate_every_s;
  if (!(every_s > 0) || first_s < static_cast<double>(evaluations_by_clock_ + 1) * every_s) return;
  evaluations_by_clock_ = static_cast<std::uint64_t>(first_s / every_s);
  if (curve_ && job_.learner) curve_->evaluate(last_s, gathered_);
}

// Step by step, so that the curve keeps no step open for long. Only the last step can be one that is
// evaluated, so the models are right where they are looked at.
void CurveCollector::replay(const std::vector<std::vector<Entry>>& entries,
                            const std::vector<Tensor>& models) {
  std::size_t most = 0;
  for (const std::vector<Entry>& of_rank : entries) most = std::max(most, of_rank.size());
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t rank = 0; rank < entries.size(); ++rank) {
      if (i >= entries[rank].size()) continue;
      const Entry& entry = entries[rank][i];
      for (std::uint64_t n = 0; n < entry.losses; ++n) {
        const double mean = entry.loss_sum / static_cast<double>(entry.losses);
        curve_->gradient_used(static_cast<int>(rank), entry.step, curve_executor_.constant({{}, {}, {mean}}),
                              0);
      }
      curve_->step_ended(
          {.rank = static_cast<int>(rank), .step = entry.step, .end_s = entry.time_s, .model = models[rank]});
      gathered_[rank] = {entry.step, models[rank]};
    }
  }
}

bool CurveCollector::run_is_over(double now_s) {
  double first_s = 0, last_s = 0;
  MPI_Allreduce(&now_s, &first_s, 1, MPI_DOUBLE, MPI_MIN, world_);
  MPI_Allreduce(&now_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, world_);
  evaluate_by_clock(first_s, last_s);
  int target_met = curve_ && job_.target.stop && curve_->target_met_s() ? 1 : 0;
  MPI_Bcast(&target_met, 1, MPI_INT, 0, world_);
  return first_s >= job_.stop.time_s || target_met != 0;
}

void CurveCollector::finish(double end_s, RunRecord& record) { curve_->finish(end_s, record); }

}  // namespace simsgd
