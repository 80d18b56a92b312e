// When a run of one method ends, and what is evaluated at which instant: one worker slower.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "sim/engine/simulate.hpp"
#include "sim/recording/learning_curve.hpp"
#include "tests/engine/slow_first.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::engine_run_end {

using engine::slow_first;

namespace {

// Workers that exchange nothing: rank r takes step_s[r] for a step, and its model is then 1000 r + the step.
class Alone final : public Algorithm {
 public:
  explicit Alone(std::vector<double> step_s) : step_s_(std::move(step_s)) {}
  void run(Worker& worker) const override {
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, step_s_[static_cast<std::size_t>(worker.rank())]);
      if (worker.replica().size() == 0) continue;
      const auto value = static_cast<float>(1000 * worker.rank() + static_cast<int>(worker.step()));
      worker.replica().set(
          worker.executor().constant({std::vector<float>(worker.replica().size(), value), {}, {}}));
    }
  }
  bool needs_others() const override { return false; }

 private:
  std::vector<double> step_s_;
};

Job alone_job(std::vector<double> step_s) {
  Job job = scripted_job(star(static_cast<int>(step_s.size()), 0, 1e9), nullptr);
  job.algorithm = std::make_unique<Alone>(std::move(step_s));
  job.stop.steps = std::numeric_limits<std::uint64_t>::max();
  return job;
}

double throughput_at(const std::string& algorithm, double factor, double end_s) {
  Job job = slow_first(algorithm, factor);
  job.stop.steps = std::numeric_limits<std::uint64_t>::max();
  job.stop.time_s = end_s;
  const RunRecord record = simulate_job(job);
  double samples = 0;
  for (const WorkerRecord& worker : record.workers) samples += worker.samples;
  return samples / record.end_s;
}

}  // namespace

TEST_CASE("workers that do not need each other stop at the last instant, each where it is then") {
  // Steps of 1, 1 and 4 s until 10.5 s: 10, 10 and 2 are completed; what is in progress does not count.
  Job job = alone_job({1, 1, 4});
  job.stop.time_s = 10.5;
  const RunRecord record = simulate_job(job);
  std::vector<double> numbers = steps_of(record);
  numbers.push_back(record.end_s);
  for (const WorkerRecord& worker : record.workers) {
    numbers.push_back(spent_s(worker, Activity::compute));
    numbers.push_back(worker.unfinished_busy_s);
  }
  CHECK(numbers == std::vector<double>{10, 10, 2, 10.5, 10, 0.5, 10, 0.5, 8, 2.5});
}

TEST_CASE(
    "a step that ends at the last instant is completed, also where its end is a sum that rounding moves") {
  Job job = alone_job({0.1, 0.3});
  job.stop.time_s = 3;
  const std::vector<double> steps = steps_of(simulate_job(job));
  CHECK(steps == std::vector<double>{30, 10});
}

TEST_CASE("N steps are N P by all together where workers do not need each other") {
  // 3 x 10 steps: at 13 s 13 + 13 + 3 = 29 are completed, and the thirtieth at 14 s with another (a tie
  // counts).
  Job job = alone_job({1, 1, 4});
  job.stop.steps = 10;
  const RunRecord record = simulate_job(job);
  std::vector<double> numbers = steps_of(record);
  numbers.push_back(record.end_s);
  CHECK(std::accumulate(numbers.begin(), numbers.begin() + 3, 0.0) >= 30);
  CHECK(std::accumulate(numbers.begin(), numbers.begin() + 3, 0.0) <= 31);
  CHECK(numbers[2] == 3);
  CHECK(numbers[3] == 14);
}

TEST_CASE("AD-PSGD and eager-SGD beside a worker 4 times slower keep (7 + 1/4) / 8 of their throughput") {
  for (const std::string algorithm : {"ad_psgd", "eager_sgd"}) {
    CAPTURE(algorithm);
    const double even = throughput_at(algorithm, 1, 100), uneven = throughput_at(algorithm, 4, 100);
    CHECK(uneven / even == doctest::Approx(7.25 / 8).epsilon(0.02));
  }
  // All-reduce SGD waits: a quarter.
  CHECK(throughput_at("allreduce_sgd", 4, 100) / throughput_at("allreduce_sgd", 1, 100) ==
        doctest::Approx(0.25).epsilon(0.02));
}

TEST_CASE("evaluations at an instant hold the models of that instant, and every worker's step") {
  // Steps of 1, 1 and 4 s, evaluated every 6 s: models 6, 1006, 2001 at 6 s; 12, 1012, 2003 at 12 s.
  Job job = alone_job({1, 1, 4});
  add_learner(job, 4, 64);
  job.stop.time_s = 13;
  job.record.evaluate_every_s = 6;
  std::vector<double> numbers;
  for (const EvaluationPoint& point : simulate_job(job).evaluations) {
    numbers.push_back(point.time_s);
    for (const std::uint64_t step : point.worker_steps) numbers.push_back(static_cast<double>(step));
    // By hand: sqrt(d / 3 sum (x_i - mean)^2) for d equal entries.
    const auto steps = [&](std::size_t worker) { return static_cast<double>(point.worker_steps[worker]); };
    const double x[] = {steps(0), 1000 + steps(1), 2000 + steps(2)};
    const double mean = (x[0] + x[1] + x[2]) / 3;
    double sum = 0;
    for (const double each : x) sum += (each - mean) * (each - mean);
    const auto d = static_cast<double>(job.learner->parameters());
    numbers.push_back(std::fabs(point.consensus_distance / std::sqrt(d * sum / 3) - 1) < 1e-6 ? 1 : 0);
  }
  CHECK(numbers == std::vector<double>{6, 6, 6, 1, 1, 12, 12, 12, 3, 1, 13, 13, 13, 3, 1});
}

TEST_CASE("evaluations every k steps come with the k P-th step of all together") {
  // 12 steps of all: at 5 s there are 5 + 5 + 1 = 11, at 6 s the twelfth.
  Job job = alone_job({1, 1, 4});
  add_learner(job, 4, 64);
  job.stop.time_s = 7;
  job.record.evaluate_every = 4;
  const RunRecord record = simulate_job(job);
  const std::vector<double> times = {record.evaluations.front().time_s,
                                     static_cast<double>(record.evaluations.front().step)};
  CHECK(times == std::vector<double>{6, 4});
}

TEST_CASE("where workers need their neighbours alone, an evaluation has those that are ahead as they are") {
  // A chain of one-way dependencies: rank 1 waits for rank 0, not the reverse; steps of 1 and 4 s.
  Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
    while (worker.next_step()) worker.compute().spend(Activity::compute, worker.rank() == 0 ? 1.0 : 4.0);
  });
  add_learner(job, 4, 64);
  job.stop.steps = 8;
  job.record.evaluate_every = 1;
  std::vector<double> steps;
  for (const EvaluationPoint& point : simulate_job(job).evaluations) {
    steps.push_back(point.time_s);
    for (const std::uint64_t step : point.worker_steps) steps.push_back(static_cast<double>(step));
  }
  steps.resize(9);
  // At 4 s rank 0 ends its fourth step too.
  CHECK(steps == std::vector<double>{4, 4, 1, 8, 8, 2, 12, 8, 3});
}

TEST_CASE("where nothing takes time, evaluations are by step") {
  Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
    while (worker.next_step()) {
    }
  });
  add_learner(job, 4, 64);
  job.stop.steps = 3;
  job.record.evaluate_every = 1;
  std::vector<double> steps;
  for (const EvaluationPoint& point : simulate_job(job).evaluations)
    for (const std::uint64_t step : point.worker_steps) steps.push_back(static_cast<double>(step));
  CHECK(steps == std::vector<double>{1, 1, 2, 2, 3, 3});
}

TEST_CASE("a target ends the run at its own instant, in time and in what was done") {
  for (const std::string algorithm : {"allreduce_sgd", "ad_psgd"}) {
    CAPTURE(algorithm);
    Job job = slow_first(algorithm, 4);
    add_learner(job, 16, 2048);
    job.stop.steps = 1000;
    job.record.evaluate_every = 5;
    job.target = {Target::Metric::test_accuracy, 0.5, true, 2};
    const RunRecord record = simulate_job(job);
    const auto arrival = arrival_s(job.target, record.series, record.evaluations);
    double latest = 0;
    for (const WorkerRecord& worker : record.workers) latest = std::max(latest, worker.end_s);
    CHECK(arrival.value_or(-1) == record.end_s);
    CHECK(latest <= record.end_s * (1 + 1e-9));
    CHECK(static_cast<double>(record.evaluations.size()) >= 2);
    CHECK(record.end_s < 900);
  }
}

TEST_CASE("the mean of a window reaches a target: one lucky evaluation is not an arrival") {
  std::vector<EvaluationPoint> evaluations;
  for (const double accuracy : {0.5, 0.9, 0.6, 0.7, 0.85, 0.9})
    evaluations.push_back({.step = evaluations.size() + 1,
                           .time_s = 10.0 * static_cast<double>(evaluations.size() + 1),
                           .test_accuracy = accuracy,
                           .worker_steps = {}});
  Target target{Target::Metric::test_accuracy, 0.8, false, 1};
  CHECK(arrival_s(target, {}, evaluations) == 20);
  target.window = 2;  // means 0.7, 0.75, 0.65, 0.775, 0.875
  CHECK(arrival_s(target, {}, evaluations) == 60);
  target.window = 7;
  CHECK_FALSE(arrival_s(target, {}, evaluations).has_value());
}

TEST_CASE("an evaluation at the end alone is not an arrival") {
  const std::vector<EvaluationPoint> one = {
      {.step = 100, .time_s = 50, .test_accuracy = 0.9, .worker_steps = {}}};
  Target target{Target::Metric::test_accuracy, 0.8, false, 1};
  CHECK_FALSE(arrival_s(target, {}, one).has_value());
  target.stop = true;  // reaching it is what ended the run
  CHECK(arrival_s(target, {}, one) == 50);
}

TEST_CASE("a deadlock is found where evaluations by the clock would go on for ever") {
  Job job = scripted_job(star(2, 1e-6, 1e9), [](Worker& worker) {
    while (worker.next_step())
      if (worker.rank() == 0) worker.messages().receive(1, 7);
  });
  add_learner(job, 4, 64);
  job.stop.steps = 3;
  job.record.evaluate_every_s = 1;
  const std::string error = refusal_of<std::exception>([&] { simulate_job(job); });
  CHECK(error.find("Deadlock") == 0);
}

}  // namespace simsgd::test::engine_run_end
