#include "sim/recording/learning_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/instants.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

namespace {

// sqrt(mean_i |x_i - mean|^2) as the one scalar: 0 for equal models, whose mean is not exact in fp32.
Tensor consensus_distance(Executor& executor, const std::vector<Tensor>& models, const Tensor& mean) {
  std::vector<Tensor> inputs = models;
  inputs.push_back(mean);
  return executor.submit(std::move(inputs), [](TensorData& out, auto in) {
    const std::vector<float>& centre = in.back()->values;
    const auto equals_first = [&in](const TensorData* model) { return model->values == in[0]->values; };
    if (std::all_of(in.begin(), in.end() - 1, equals_first)) {
      out.scalars = {0};
      return;
    }
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

// That they are not the same tensor does not tell that they differ: a tensor that nobody holds any more is
// computed again for whoever comes later.
/// Of shards in the order of ranks, which are the model, or several copies of it: the first one.
Tensor whole_model(Executor& executor, std::vector<Tensor> shards, std::size_t size) {
  return executor.submit(std::move(shards), [size](TensorData& out, auto in) {
    for (const TensorData* shard : in) {
      if (out.values.size() == size) return;
      out.values.insert(out.values.end(), shard->values.begin(), shard->values.end());
    }
  });
}

bool same_tensor(const std::vector<Tensor>& models) {
  return std::all_of(models.begin(), models.end(),
                     [&](const Tensor& model) { return model.id() == models.front().id(); });
}

}  // namespace

LearningCurve::LearningCurve(const Job& job, Executor& executor,
                             std::function<std::vector<ModelAtInstant>()> now, const Later& later)
    : job_(job), executor_(executor), now_(std::move(now)), last_(static_cast<std::size_t>(job.workers())) {
  const RoundListeners listeners = {
      [this](Round round) { complete(std::move(round)); },
      [this](std::uint64_t round, double time_s, const std::vector<ModelAtInstant>& workers) {
        evaluate(round, time_s, workers);
      }};
  const Later at_once = [](const std::function<void()>& action) { action(); };
  if (now_ && !job.algorithm->needs_others())
    rounds_ = rounds_alone(job, executor, now_, later, listeners);
  else if (now_)
    rounds_ = rounds_together(job, executor, job.target.stop ? later : Later(), listeners);
  else
    rounds_ = rounds_together(job, executor, at_once, listeners);
}

void LearningCurve::gradient_used(int rank, std::uint64_t step, const Tensor& gradient, double) {
  if (!job_.learner || !gradient) return;
  rounds_->loss(rank, step, executor_.submit({gradient}, [](TensorData& out, auto in) {
    out.scalars = {in[0]->scalars.at(0), 1};
  }));
}

void LearningCurve::step_ended(const StepEnd& end) {
  last_[static_cast<std::size_t>(end.rank)] = {end.step, end.model};
  rounds_->completed(end);
}

void LearningCurve::complete(Round round) {
  last_round_s_ = std::max(last_round_s_, round.time_s);
  if (!job_.learner) return;
  if (!round.losses.empty())
    pending_losses_.push_back({round.number, round.time_s, add_losses(executor_, std::move(round.losses))});
  settle(512);
}

void LearningCurve::evaluate(double time_s, const std::vector<ModelAtInstant>& workers) {
  std::uint64_t steps = 0;
  for (const ModelAtInstant& worker : workers) steps += worker.step;
  evaluate(steps / workers.size(), time_s, workers);
}

void LearningCurve::evaluate(std::uint64_t step, double time_s, const std::vector<ModelAtInstant>& workers) {
  if (!job_.learner) return;
  EvaluationPoint point;
  point.step = step;
  point.time_s = time_s;
  std::vector<Tensor> models;
  const bool shards = job_.algorithm->shards();
  for (const ModelAtInstant& worker : workers) {
    // What a worker starts with is the whole model.
    models.push_back(shards && worker.step == 0
                         ? part_of(executor_, worker.model, models.size(), workers.size())
                         : worker.model);
    point.worker_steps.push_back(worker.step);
  }
  if (shards) models = {whole_model(executor_, models, job_.learner->parameters())};
  const bool same = same_tensor(models);
  const Tensor mean = same ? models.front()
                           : linear_combination(executor_, std::vector<double>(models.size(), 1.0), models,
                                                1.0 / static_cast<double>(models.size()));
  std::vector<Tensor> inputs = {mean};
  if (!same) inputs.insert(inputs.end(), {consensus_distance(executor_, models, mean), models.front()});
  const Learner* learner = job_.learner.get();
  pending_evaluations_.push_back(
      {std::move(point), executor_.submit(std::move(inputs), [learner](TensorData& out, auto in) {
         const double distance = in.size() > 1 ? in[1]->scalars.at(0) : 0.0;
         Evaluation result{std::nan(""), std::nan("")};
         const TensorData* model = in.size() > 1 && distance == 0 ? in[2] : in[0];
         if (learner->has_test()) result = learner->evaluate_test(model->values);
         out.scalars = {result.loss, result.accuracy, distance};
       })});
  evaluated_s_ = time_s;
  evaluated_step_ = step;
}

// Turns handles into numbers, oldest first, so that a loss that is not finite is found at its first step.
void LearningCurve::settle(std::size_t keep_pending) {
  while (pending_losses_.size() > keep_pending) {
    const PendingLoss& point = pending_losses_.front();
    const std::vector<double>& total = executor_.get(point.value).scalars;
    const double loss = total[0] / total[1];
    if (!std::isfinite(loss))
      throw RunError(fmt::format(
          "The training loss is {} at step {}: training diverged. Lower the learning rate, or check the data.",
          std::isnan(loss) ? "not a number" : "infinite", point.round));
    series_.push_back({point.round, point.time_s, loss});
    pending_losses_.pop_front();
  }
  while (pending_evaluations_.size() > keep_pending) {
    PendingEvaluation& pending = pending_evaluations_.front();
    const std::vector<double>& scalars = executor_.get(pending.value).scalars;
    EvaluationPoint& point = evaluations_.emplace_back(std::move(pending.point));
    point.test_loss = scalars[0];
    point.test_accuracy = scalars[1];
    point.consensus_distance = scalars[2];
    pending_evaluations_.pop_front();
  }
}

namespace {

// When the mean of the last `window` values that end at or after number `from` first reaches the target.
template <class Point, class Value>
std::optional<double> first_reached(const Target& target, std::span<const Point> points, std::size_t from,
                                    Value value) {
  const auto window = static_cast<std::size_t>(target.window);
  for (std::size_t end = std::max(from + 1, window); end <= points.size(); ++end) {
    double sum = 0;
    for (const Point& point : points.subspan(end - window, window)) sum += value(point);
    const double mean = sum / static_cast<double>(window);
    const bool reached =
        target.metric == Target::Metric::test_accuracy ? mean >= target.value : mean <= target.value;
    if (reached) return points[end - 1].time_s;
  }
  return std::nullopt;
}

std::optional<double> reached_from(const Target& target, std::span<const SeriesPoint> series,
                                   std::size_t series_from, std::span<const EvaluationPoint> evaluations,
                                   std::size_t evaluations_from) {
  switch (target.metric) {
    case Target::Metric::train_loss:
      return first_reached(target, series, series_from,
                           [](const SeriesPoint& point) { return point.train_loss; });
    case Target::Metric::test_loss:
      return first_reached(target, evaluations, evaluations_from,
                           [](const EvaluationPoint& point) { return point.test_loss; });
    case Target::Metric::test_accuracy:
      return first_reached(target, evaluations, evaluations_from,
                           [](const EvaluationPoint& point) { return point.test_accuracy; });
    case Target::Metric::none:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> arrival_s(const Target& target, std::span<const SeriesPoint> series,
                                std::span<const EvaluationPoint> evaluations) {
  if (target.metric != Target::Metric::train_loss && !target.stop && evaluations.size() < 2)
    return std::nullopt;
  return reached_from(target, series, 0, evaluations, 0);
}

std::optional<double> LearningCurve::target_met_s() {
  if (target_met_s_ || job_.target.metric == Target::Metric::none) return target_met_s_;
  settle(0);
  target_met_s_ = reached_from(job_.target, series_, series_seen_, evaluations_, evaluations_seen_);
  series_seen_ = series_.size();
  evaluations_seen_ = evaluations_.size();
  return target_met_s_;
}

void LearningCurve::finish(double end_s, End end, RunRecord& record) {
  rounds_->finish();
  if (end == End::instant) {
    const bool known = now_ || rounds_completed() > 0;
    if (known && before(evaluated_s_, end_s)) evaluate(end_s, now_ ? now_() : last_);
  } else if (rounds_completed() > 0 &&
             (last_round_s_ > evaluated_s_ || rounds_completed() > evaluated_step_)) {
    evaluate(rounds_completed(), last_round_s_, last_);
  }
  settle(0);
  record.series = series_;
  record.evaluations = evaluations_;
}

}  // namespace simsgd
