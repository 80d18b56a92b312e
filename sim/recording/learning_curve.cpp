#include "sim/recording/learning_curve.hpp"

#include <fmt/format.h>
#include <limits>

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

// Adds up the scalars {sum of losses, number of losses}.
Values add_losses(Executor& executor, std::vector<Values> losses) {
  return executor.submit(std::move(losses), [](Tensor& out, auto in) {
    out.scalars = {0, 0};
    for (const Tensor* loss : in) {
      out.scalars[0] += loss->scalars.at(0);
      out.scalars[1] += loss->scalars.at(1);
    }
  });
}

// sqrt(mean_i |x_i - mean|^2) as the one scalar.
Values consensus_distance(Executor& executor, const std::vector<Values>& models, const Values& mean) {
  std::vector<Values> inputs = models;
  inputs.push_back(mean);
  return executor.submit(std::move(inputs), [](Tensor& out, auto in) {
    const std::vector<float>& centre = in.back()->values;
    double sum = 0;
    for (std::size_t i = 0; i + 1 < in.size(); ++i) {
      for (std::size_t k = 0; k < centre.size(); ++k) {
        const double difference = static_cast<double>(in[i]->values[k]) - static_cast<double>(centre[k]);
        sum += difference * difference;
      }
    }
    out.scalars = {std::sqrt(sum / static_cast<double>(in.size() - 1))};
  });
}

bool all_equal(const std::vector<Values>& models) {
  return std::all_of(models.begin(), models.end(),
                     [&](const Values& model) { return model.id() == models.front().id(); });
}

}  // namespace

LearningCurve::LearningCurve(const Job& job, Executor& executor)
    : job_(job), executor_(executor), workers_(job.workers()), learns_(job.learner != nullptr) {
  last_models_.resize(static_cast<std::size_t>(workers_));
}

LearningCurve::Step& LearningCurve::at(std::uint64_t step) {
  CHECK(step > completed_, "a step was reported after all workers had completed it");
  const auto index = static_cast<std::size_t>(step - completed_ - 1);
  while (open_.size() <= index) {
    Step fresh;
    if (learns_) fresh.losses.resize(static_cast<std::size_t>(workers_));
    open_.push_back(std::move(fresh));
  }
  return open_[index];
}

void LearningCurve::loss(int rank, std::uint64_t step, const Values& gradient) {
  if (!learns_ || !gradient) return;
  Values& slot = at(step).losses[static_cast<std::size_t>(rank)];
  const Values one = executor_.submit({gradient}, [](Tensor& out, auto in) {
    out.scalars = {in[0]->scalars.at(0), 1};
  });
  slot = slot ? add_losses(executor_, {slot, one}) : one;
}

void LearningCurve::completed(int rank, std::uint64_t step, double time_s, const Values& model) {
  Step& entry = at(step);
  entry.time_s = std::max(entry.time_s, time_s);
  last_models_[static_cast<std::size_t>(rank)] = model;
  const std::uint64_t every = job_.record.evaluate_every;
  if (learns_ && every > 0 && step % every == 0) {
    entry.models.resize(static_cast<std::size_t>(workers_));
    entry.models[static_cast<std::size_t>(rank)] = model;
  }
  ++entry.workers_done;
  while (!open_.empty() && open_.front().workers_done == workers_) {
    close(completed_ + 1, open_.front());
    open_.pop_front();
    ++completed_;
  }
}

void LearningCurve::close(std::uint64_t number, Step& step) {
  completed_time_s_ = std::max(completed_time_s_, step.time_s);
  if (!learns_) return;
  std::vector<Values> losses;
  for (Values& loss : step.losses)
    if (loss) losses.push_back(std::move(loss));
  if (!losses.empty())
    pending_losses_.push_back({number, step.time_s, add_losses(executor_, std::move(losses))});
  if (!step.models.empty()) evaluate(number, step.time_s, step.models);
  settle_losses(512);
}

void LearningCurve::evaluate(std::uint64_t step, double time_s, const std::vector<Values>& models) {
  const bool equal = all_equal(models);
  const Values mean = equal ? models.front()
                            : linear_combination(executor_, std::vector<double>(models.size(), 1.0), models,
                                                 1.0 / static_cast<double>(models.size()));
  std::vector<Values> inputs = {mean};
  if (!equal) inputs.push_back(consensus_distance(executor_, models, mean));
  const Learner* learner = job_.learner.get();
  pending_evaluations_.push_back(
      {step, time_s, executor_.submit(std::move(inputs), [learner](Tensor& out, auto in) {
         const double distance = in.size() > 1 ? in[1]->scalars.at(0) : 0.0;
         Evaluation result{std::nan(""), std::nan("")};
         if (learner->has_test()) result = learner->evaluate_test(in[0]->values);
         out.scalars = {result.loss, result.accuracy, distance};
       })});
  evaluated_step_ = step;
}

// Turns handles into numbers, oldest first, so that a loss that is not finite is found at its first step.
void LearningCurve::settle_losses(std::size_t keep_pending) {
  while (pending_losses_.size() > keep_pending) {
    const PendingPoint& point = pending_losses_.front();
    const std::vector<double>& total = executor_.get(point.value).scalars;
    const double loss = total[0] / total[1];
    if (!std::isfinite(loss))
      throw RunError(
          fmt::format("The training loss is {} at step {}: training diverged. Lower the learning rate, or "
                      "check the data.",
                      std::isnan(loss) ? "not a number" : "infinite", point.step));
    series_.push_back({point.step, point.time_s, loss});
    pending_losses_.pop_front();
  }
  while (pending_evaluations_.size() > keep_pending) {
    const PendingPoint& point = pending_evaluations_.front();
    const std::vector<double>& scalars = executor_.get(point.value).scalars;
    evaluations_.push_back({point.step, point.time_s, scalars[0], scalars[1], scalars[2]});
    pending_evaluations_.pop_front();
  }
}

double recent_loss(std::span<const SeriesPoint> points, std::uint64_t window) {
  if (points.size() < window) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const SeriesPoint& point : points.last(window)) sum += point.train_loss;
  return sum / static_cast<double>(window);
}

bool LearningCurve::target_met() {
  if (target_met_ || job_.target.metric == Target::Metric::none) return target_met_;
  settle_losses(0);
  switch (job_.target.metric) {
    case Target::Metric::train_loss:
      target_met_ = recent_loss(series_, job_.target.window) <= job_.target.value;
      break;
    case Target::Metric::test_loss:
      target_met_ = !evaluations_.empty() && evaluations_.back().test_loss <= job_.target.value;
      break;
    case Target::Metric::test_accuracy:
      target_met_ = !evaluations_.empty() && evaluations_.back().test_accuracy >= job_.target.value;
      break;
    case Target::Metric::none:
      break;
  }
  return target_met_;
}

void LearningCurve::finish(RunRecord& record) {
  if (learns_ && completed_ > evaluated_step_) evaluate(completed_, completed_time_s_, last_models_);
  settle_losses(0);
  record.series = series_;
  record.evaluations = evaluations_;
}

}  // namespace simsgd
