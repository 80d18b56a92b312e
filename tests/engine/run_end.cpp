// When a run ends, and what is evaluated at which instant: of all algorithms alike, one worker slower.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "algorithms/registry.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/activities.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/recording/learning_curve.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/recording/step_log.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_run_end {

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

std::vector<double> steps_of(const RunRecord& record) {
  std::vector<double> steps;
  for (const WorkerRecord& worker : record.workers) steps.push_back(static_cast<double>(worker.steps));
  return steps;
}

// One ResNet-like layer of 0.25 s, 8 workers, the first of them so much slower.
Job slow_first(const std::string& algorithm, double factor, const Json& parameters = Json::object()) {
  Job job = scripted_job(star(8, 1e-6, 12.5e9), nullptr, 25e6);
  job.workload.layers.front().forward_s = 0.08;
  job.workload.layers.front().backward_s = 0.17;
  job.workload.batch = 64;
  job.cluster.node_speed = {1 / factor, 1, 1, 1, 1, 1, 1, 1};
  if (algorithm == "ad_psgd") job.graph = graph_of("ring", 8);
  use_algorithm(job, algorithm, parameters);
  return job;
}

double throughput_at(const std::string& algorithm, double factor, double end_s) {
  return in_child([&] {
           Job job = slow_first(algorithm, factor);
           job.stop.steps = std::numeric_limits<std::uint64_t>::max();
           job.stop.time_s = end_s;
           const RunRecord record = simulate_job(job);
           double samples = 0;
           for (const WorkerRecord& worker : record.workers) samples += worker.samples;
           return std::vector<double>{samples / record.end_s, record.end_s};
         })
      .front();
}

}  // namespace

TEST_CASE("workers that do not need each other stop at the last instant, each where it is then") {
  // Steps of 1, 1 and 4 s until 10.5 s: 10, 10 and 2 are completed; what is in progress does not count.
  const std::vector<double> numbers = in_child([] {
    Job job = alone_job({1, 1, 4});
    job.stop.time_s = 10.5;
    const RunRecord record = simulate_job(job);
    std::vector<double> all = steps_of(record);
    all.push_back(record.end_s);
    for (const WorkerRecord& worker : record.workers) {
      all.push_back(worker.activity_s[static_cast<std::size_t>(Activity::compute)]);
      all.push_back(worker.unfinished_busy_s);
    }
    return all;
  });
  CHECK(numbers == std::vector<double>{10, 10, 2, 10.5, 10, 0.5, 10, 0.5, 8, 2.5});
}

TEST_CASE(
    "a step that ends at the last instant is completed, also where its end is a sum that rounding moves") {
  const std::vector<double> steps = in_child([] {
    Job job = alone_job({0.1, 0.3});
    job.stop.time_s = 3;
    return steps_of(simulate_job(job));
  });
  CHECK(steps == std::vector<double>{30, 10});
}

TEST_CASE("N steps are N P by all together where workers do not need each other") {
  // 3 x 10 steps: at 13 s 13 + 13 + 3 = 29 are completed, and the thirtieth at 14 s with another (a tie
  // counts).
  const std::vector<double> numbers = in_child([] {
    Job job = alone_job({1, 1, 4});
    job.stop.steps = 10;
    const RunRecord record = simulate_job(job);
    std::vector<double> all = steps_of(record);
    all.push_back(record.end_s);
    return all;
  });
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
  const std::vector<double> numbers = in_child([] {
    Job job = alone_job({1, 1, 4});
    add_learner(job, 4, 64);
    job.stop.time_s = 13;
    job.record.evaluate_every_s = 6;
    std::vector<double> all;
    for (const EvaluationPoint& point : simulate_job(job).evaluations) {
      all.push_back(point.time_s);
      for (const std::uint64_t step : point.worker_steps) all.push_back(static_cast<double>(step));
      // By hand: sqrt(d / 3 sum (x_i - mean)^2) for d equal entries.
      const auto steps = [&](std::size_t worker) { return static_cast<double>(point.worker_steps[worker]); };
      const double x[] = {steps(0), 1000 + steps(1), 2000 + steps(2)};
      const double mean = (x[0] + x[1] + x[2]) / 3;
      double sum = 0;
      for (const double each : x) sum += (each - mean) * (each - mean);
      const auto d = static_cast<double>(job.learner->parameters());
      all.push_back(std::fabs(point.consensus_distance / std::sqrt(d * sum / 3) - 1) < 1e-6 ? 1 : 0);
    }
    return all;
  });
  CHECK(numbers == std::vector<double>{6, 6, 6, 1, 1, 12, 12, 12, 3, 1, 13, 13, 13, 3, 1});
}

TEST_CASE("evaluations every k steps come with the k P-th step of all together") {
  // 12 steps of all: at 5 s there are 5 + 5 + 1 = 11, at 6 s the twelfth.
  const std::vector<double> times = in_child([] {
    Job job = alone_job({1, 1, 4});
    add_learner(job, 4, 64);
    job.stop.time_s = 7;
    job.record.evaluate_every = 4;
    const RunRecord record = simulate_job(job);
    return std::vector<double>{record.evaluations.front().time_s,
                               static_cast<double>(record.evaluations.front().step)};
  });
  CHECK(times == std::vector<double>{6, 4});
}

TEST_CASE("where workers need their neighbours alone, an evaluation has those that are ahead as they are") {
  // A chain of one-way dependencies: rank 1 waits for rank 0, not the reverse; steps of 1 and 4 s.
  const std::vector<double> steps = in_child([] {
    Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
      while (worker.next_step()) worker.compute().spend(Activity::compute, worker.rank() == 0 ? 1.0 : 4.0);
    });
    add_learner(job, 4, 64);
    job.stop.steps = 8;
    job.record.evaluate_every = 1;
    std::vector<double> all;
    for (const EvaluationPoint& point : simulate_job(job).evaluations) {
      all.push_back(point.time_s);
      for (const std::uint64_t step : point.worker_steps) all.push_back(static_cast<double>(step));
    }
    all.resize(9);
    return all;
  });
  // At 4 s rank 0 ends its fourth step too.
  CHECK(steps == std::vector<double>{4, 4, 1, 8, 8, 2, 12, 8, 3});
}

TEST_CASE("where nothing takes time, evaluations are by step") {
  const std::vector<double> steps = in_child([] {
    Job job = scripted_job(star(2, 0, 1e9), [](Worker& worker) {
      while (worker.next_step()) {
      }
    });
    add_learner(job, 4, 64);
    job.stop.steps = 3;
    job.record.evaluate_every = 1;
    std::vector<double> all;
    for (const EvaluationPoint& point : simulate_job(job).evaluations)
      for (const std::uint64_t step : point.worker_steps) all.push_back(static_cast<double>(step));
    return all;
  });
  CHECK(steps == std::vector<double>{1, 1, 2, 2, 3, 3});
}

TEST_CASE("a target ends the run at its own instant, in time and in what was done") {
  for (const std::string algorithm : {"allreduce_sgd", "ad_psgd"}) {
    CAPTURE(algorithm);
    const std::vector<double> numbers = in_child([&] {
      Job job = slow_first(algorithm, 4);
      add_learner(job, 16, 2048);
      job.stop.steps = 1000;
      job.record.evaluate_every = 5;
      job.target = {Target::Metric::test_accuracy, 0.5, true, 2};
      const RunRecord record = simulate_job(job);
      const auto arrival = arrival_s(job.target, record.series, record.evaluations);
      double latest = 0;
      for (const WorkerRecord& worker : record.workers) latest = std::max(latest, worker.end_s);
      return std::vector<double>{arrival.value_or(-1), record.end_s, latest,
                                 static_cast<double>(record.evaluations.size())};
    });
    CHECK(numbers[0] == numbers[1]);
    CHECK(numbers[2] <= numbers[1] * (1 + 1e-9));
    CHECK(numbers[3] >= 2);
    CHECK(numbers[1] < 900);
  }
}

TEST_CASE("samples end a run, and all that ends at that instant counts") {
  // 3 workers of batch 1 that end together: the tenth sample is of their fourth step, with two more.
  const std::vector<double> steps = in_child([] {
    Job job = scripted_job(star(3, 0, 1e9), [](Worker& worker) {
      while (worker.next_step()) {
        worker.compute().gradient();
        worker.collectives().run(Barrier());
      }
    });
    job.stop.steps = 100;
    job.stop.samples = 10 * job.workload.batch;
    return steps_of(simulate_job(job));
  });
  CHECK(steps == std::vector<double>{4, 4, 4});
  const std::vector<double> alone = in_child([] {
    Job job = slow_first("ad_psgd", 4);
    job.stop.steps = 1000;
    job.stop.samples = 8 * 64 * 20;
    const RunRecord record = simulate_job(job);
    double samples = 0;
    for (const WorkerRecord& worker : record.workers) samples += worker.samples;
    return std::vector<double>{samples, job.stop.samples};
  });
  CHECK(alone[0] >= alone[1]);
  CHECK(alone[0] <= alone[1] + 7 * 64);  // ties at that instant
}

TEST_CASE("the mean of a window reaches a target: one lucky evaluation is no arrival") {
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

TEST_CASE("an evaluation at the end alone is no arrival") {
  const std::vector<EvaluationPoint> one = {
      {.step = 100, .time_s = 50, .test_accuracy = 0.9, .worker_steps = {}}};
  Target target{Target::Metric::test_accuracy, 0.8, false, 1};
  CHECK_FALSE(arrival_s(target, {}, one).has_value());
  target.stop = true;  // reaching it is what ended the run
  CHECK(arrival_s(target, {}, one) == 50);
}

TEST_CASE("a deadlock is found where evaluations by the clock would go on for ever") {
  const ChildResult result = run_in_child([] {
    Job job = scripted_job(star(2, 1e-6, 1e9), [](Worker& worker) {
      while (worker.next_step())
        if (worker.rank() == 0) worker.messages().receive(1, 7);
    });
    add_learner(job, 4, 64);
    job.stop.steps = 3;
    job.record.evaluate_every_s = 1;
    simulate_job(job);
    return std::vector<double>{};
  });
  CHECK(result.error.find("Deadlock") == 0);
}

// One rule for all
// -----------------------------------------------------------------------------------------------------------

namespace {

/// A step as those saw it who listened, with the samples that it used and the time that was booked.
struct Seen {
  int rank = 0;
  double end_s = 0, samples = 0, booked_s = 0;
};

double booked_s(const std::array<double, kActivities>& activity_s) {
  return std::accumulate(activity_s.begin(), activity_s.end(), 0.0);
}

/// What a run told and left behind.
struct Told {
  std::vector<Seen> steps;  // in the order of their ends
  std::vector<std::pair<double, double>> losses;
  std::vector<Seen> workers;               // totals: `end_s` of the last step
  std::vector<double> counts, last_steps;  // of the workers; at the last evaluation
  double end_s = 0, evaluated_s = 0, breakdown = 0, iteration = 0, drawn_s = 0;
};

class Samples final : public Observer {
 public:
  void gradient_used(int rank, std::uint64_t, const Tensor&, double samples) override {
    open_[rank] += samples;
  }
  void step_ended(const StepEnd& end) override { ended.push_back(std::exchange(open_[end.rank], 0)); }
  std::vector<double> ended;  // in the order in which they were told, as the rows of a StepLog

 private:
  std::map<int, double> open_;
};

Told told(Job& job, const StopRule& stop) {
  const std::vector<double> all = in_child([&] {
    job.stop = stop;
    Samples samples;
    StepLog log(0, job.workers());
    SimulationOptions options;
    options.observers = {&samples, &log};
    const SimulationResult result = simulate(job, options);
    const RunRecord& record = result.record;
    std::vector<double> out = {static_cast<double>(log.rows().size()),
                               static_cast<double>(record.series.size()),
                               static_cast<double>(record.workers.size()), record.end_s,
                               record.evaluations.empty() ? -1 : record.evaluations.back().time_s};
    double breakdown = 0, iteration = 0, drawn_s = 0;
    for (const MetricValue& metric : metric_values(record, job)) {
      if (metric.name == "iteration_time_mean_s") iteration = metric.value;
      for (const ActivityInfo& each : activities())
        if (metric.name == activity_metric(each.activity)) breakdown += metric.value;
    }
    for (const TimelineEvent& event : result.timeline.events()) drawn_s = std::max(drawn_s, event.end_s);
    out.insert(out.end(), {breakdown, iteration, drawn_s});
    for (std::size_t i = 0; i < log.rows().size(); ++i) {
      const StepRow& row = log.rows()[i];
      out.insert(out.end(),
                 {static_cast<double>(row.worker), row.end_s, samples.ended[i], booked_s(row.activity_s)});
    }
    for (const SeriesPoint& point : record.series) out.insert(out.end(), {point.time_s, point.train_loss});
    for (std::size_t rank = 0; rank < record.workers.size(); ++rank) {
      const WorkerRecord& worker = record.workers[rank];
      const bool evaluated = !record.evaluations.empty();
      out.insert(
          out.end(),
          {static_cast<double>(worker.steps), worker.end_s, worker.samples, booked_s(worker.activity_s),
           evaluated ? static_cast<double>(record.evaluations.back().worker_steps[rank]) : -1});
    }
    return out;
  });
  Told run;
  auto next = all.begin();
  const auto take = [&next] { return *next++; };
  const auto rows = static_cast<int>(take()), points = static_cast<int>(take()),
             workers = static_cast<int>(take());
  for (double* value : {&run.end_s, &run.evaluated_s, &run.breakdown, &run.iteration, &run.drawn_s})
    *value = take();
  for (int i = 0; i < rows; ++i) {
    Seen step;
    step.rank = static_cast<int>(take());
    for (double* value : {&step.end_s, &step.samples, &step.booked_s}) *value = take();
    run.steps.push_back(step);
  }
  std::stable_sort(run.steps.begin(), run.steps.end(),
                   [](const Seen& a, const Seen& b) { return a.end_s < b.end_s; });
  for (int i = 0; i < points; ++i) {
    const double time_s = take();
    run.losses.emplace_back(time_s, take());
  }
  for (int rank = 0; rank < workers; ++rank) {
    run.counts.push_back(take());
    Seen worker;
    for (double* value : {&worker.end_s, &worker.samples, &worker.booked_s}) *value = take();
    run.workers.push_back(worker);
    run.last_steps.push_back(take());
  }
  return run;
}

/// `cut` ended at `end_s`: it is what `whole`, which went on, had done by then.
void check_is_begin_of(const Told& whole, const Told& cut, double end_s) {
  const double last_s = end_s * (1 + 1e-9);
  std::vector<double> counts(cut.counts.size(), 0.0);
  std::vector<Seen> totals(counts.size());
  for (const Seen& step : whole.steps) {
    if (step.end_s > last_s) continue;
    const auto rank = static_cast<std::size_t>(step.rank);
    counts[rank] += 1;
    totals[rank].end_s = step.end_s;
    totals[rank].samples += step.samples;
    totals[rank].booked_s += step.booked_s;
  }
  CHECK(cut.counts == counts);
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    CAPTURE(rank);
    CHECK(cut.workers[rank].end_s == doctest::Approx(totals[rank].end_s).epsilon(1e-12));
    CHECK(cut.workers[rank].samples == doctest::Approx(totals[rank].samples).epsilon(1e-12));
    CHECK(cut.workers[rank].booked_s == doctest::Approx(totals[rank].booked_s).epsilon(1e-9));
  }
  CHECK(cut.iteration == doctest::Approx(cut.breakdown).epsilon(1e-12));
  CHECK(cut.drawn_s <= cut.end_s);
  std::size_t points = 0;
  for (const auto& [time_s, loss] : whole.losses) points += time_s <= last_s ? 1 : 0;
  REQUIRE(cut.losses.size() == points);
  for (std::size_t i = 0; i < points; ++i)
    CHECK(cut.losses[i].second == doctest::Approx(whole.losses[i].second));
  if (cut.evaluated_s < 0) return;
  CHECK(cut.evaluated_s == cut.end_s);
  CHECK(cut.last_steps == counts);
}

/// The small scenario of every algorithm, with a worker four times slower.
std::map<std::string, Json> slow_scenarios() {
  const std::string file = SIMSGD_SOURCE_DIR "/tests/results/recorded_runs.json";
  const Json small = parse_json(cli::contents(file), file);
  std::map<std::string, Json> all;
  for (const AlgorithmPlugin& plugin : algorithm_plugins()) {
    Json scenario = small["base"];
    scenario.merge_patch(small["runs"][plugin.info.name]);
    for (const char* section : {"cluster", "workload"})
      scenario[section]["use"] =
          SIMSGD_SOURCE_DIR "/scenarios/" + scenario[section]["use"].get<std::string>();
    scenario["stragglers"].push_back({{"name", "constant"}, {"factor", 4}, {"workers", {0}}});
    scenario["record"] = {{"timeline_events", 5000}};
    all[plugin.info.name] = scenario;
  }
  return all;
}

constexpr double kEnd_s = 0.61;

}  // namespace

TEST_CASE("every algorithm ends at the instant that is asked for, and is until then what it is without") {
  const std::map<std::string, Json> scenarios = slow_scenarios();
  CHECK(scenarios.size() == algorithm_plugins().size());
  const Json crash = {
      {"failures", {{"crashes", {{{"worker", 0}, {"time", "0.2 s"}}}}, {"restart", "50 ms"}}}};
  const Json messages = {{"learner", nullptr}, {"network", {{"fidelity", "messages"}}}};
  for (const auto& [name, scenario] : scenarios) {
    CAPTURE(name);
    for (const Json& patch : {crash, messages}) {
      CAPTURE(patch.dump());
      Json patched = scenario;
      patched.merge_patch(patch);
      Job job = job_of(patched);
      const Told whole = told(job, {.steps = 40});
      REQUIRE(whole.end_s > 1.2 * kEnd_s);
      const Told timed = told(job, {.time_s = kEnd_s});
      CHECK(timed.end_s == kEnd_s);
      check_is_begin_of(whole, timed, kEnd_s);
      if (job.learner == nullptr) continue;
      // The step with which there are 19.5 mini-batches, of which a round that ends early uses less.
      const double enough = 19.5 * job.workload.batch;
      double samples = 0, end_s = 0;
      for (const Seen& step : whole.steps) {
        samples += step.samples;
        end_s = step.end_s;
        if (samples >= enough) break;
      }
      const Told counted = told(job, {.samples = enough});
      CHECK(counted.end_s == doctest::Approx(end_s).epsilon(1e-12));
      check_is_begin_of(whole, counted, end_s);
    }
  }
}

TEST_CASE("without exchanges a worker has the steps that fit, however rarely it would wait for others") {
  // Steps of 0.25 s, of rank 0 1 s; until 10 s 40 and 10 of them. By t all together 7 floor(4 t) + floor(t):
  // 159 at 5.5 s, 166 at 5.75 s.
  const auto run = [](const std::string& name, const Json& options, double time_s, double samples) {
    return in_child([&] {
      Job job = slow_first(name, 4, options);
      job.stop = {.time_s = time_s, .samples = samples};
      const RunRecord record = simulate_job(job);
      std::vector<double> all = steps_of(record);
      all.push_back(record.end_s);
      return all;
    });
  };
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::string, Json>> methods = {{"diloco", {{"inner_steps", 500}}},
                                                             {"local_sgd", {{"period", 100}}},
                                                             {"wagma", {{"period", 100}, {"group_size", 1}}},
                                                             {"ad_psgd", {{"averagings_per_step", 0}}}};
  for (const auto& [name, options] : methods) {
    CAPTURE(name);
    CHECK(run(name, options, 10, kNever) == std::vector<double>{10, 40, 40, 40, 40, 40, 40, 40, 10});
    CHECK(run(name, options, kNever, 160 * 64) == std::vector<double>{5, 23, 23, 23, 23, 23, 23, 23, 5.75});
    CHECK(run(name, options, 0.249, kNever) == std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 0.249});
    CHECK(run(name, options, 0.25, kNever) == std::vector<double>{0, 1, 1, 1, 1, 1, 1, 1, 0.25});
  }
  // All-reduces of 14 x 100 MB / 8 at 12.5 GB/s: rounds of 1 + 0.014 s.
  CHECK(run("allreduce_sgd", Json::object(), 10, kNever) == std::vector<double>{9, 9, 9, 9, 9, 9, 9, 9, 10});
}

TEST_CASE("N steps end at an instant too: at a tie AD-PSGD is evaluated with all that it has then") {
  // Nobody averages: each worker is an SGD of its own. With 10 x 8 steps it is over at 3 s, where everybody
  // ends a step: 7 x 12 + 3 = 87. An evaluation of 5 x 8 steps is at 1.5 s, of 7 x 6 + 1.
  const auto make = [] {
    Job job = slow_first("ad_psgd", 4, {{"averagings_per_step", 0}});
    add_learner(job, 8, 512);
    job.optimizer.rule = sgd_rule();
    job.stop.steps = 10;
    job.record.evaluate_every = 5;
    return job;
  };
  const std::vector<double> found = in_child([&] {
    const RunRecord record = simulate_job(make());
    std::vector<double> all = {record.end_s};
    for (const EvaluationPoint& point : record.evaluations)
      all.insert(all.end(), {point.time_s, static_cast<double>(point.worker_steps[0]),
                             static_cast<double>(point.worker_steps[7]), point.test_loss});
    return all;
  });
  const Job job = make();
  const auto loss_after = [&](std::uint64_t slow, std::uint64_t fast) {
    std::vector<float> mean(job.learner->parameters(), 0.0F);
    for (int rank = 0; rank < 8; ++rank) {
      std::vector<float> x = job.learner->initial_parameters(), g(x.size());
      for (std::uint64_t step = 1; step <= (rank == 0 ? slow : fast); ++step) {
        job.learner->gradient(x, job.learner->samples(rank, step), g);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 0.05F * g[i];
      }
      for (std::size_t i = 0; i < x.size(); ++i) mean[i] += x[i] / 8;
    }
    return job.learner->evaluate_test(mean).loss;
  };
  REQUIRE(found.size() == 9);
  CHECK(std::vector<double>(found.begin(), found.begin() + 4) == std::vector<double>{3, 1.5, 1, 6});
  CHECK(found[4] == doctest::Approx(loss_after(1, 6)).epsilon(1e-5));
  CHECK(std::vector<double>(found.begin() + 5, found.begin() + 8) == std::vector<double>{3, 3, 12});
  CHECK(found[8] == doctest::Approx(loss_after(3, 12)).epsilon(1e-5));
}

TEST_CASE("a run that is over before any step has ended has the models that it began with") {
  const std::vector<double> numbers = in_child([] {
    Job job = slow_first("allreduce_sgd", 4);
    add_learner(job, 8, 512);
    job.stop = {.time_s = 1e-9};
    const RunRecord record = simulate_job(job);
    const bool initial =
        record.evaluations.size() == 1 &&
        record.evaluations[0].test_loss == job.learner->evaluate_test(job.learner->initial_parameters()).loss;
    double parts = 0;
    for (const MetricValue& metric : metric_values(record, job))
      parts += metric.name.ends_with("_mean_s") ? 1 : 0;
    return std::vector<double>{record.end_s, static_cast<double>(record.series.size()), initial ? 1.0 : 0,
                               parts};
  });
  CHECK(numbers == std::vector<double>{1e-9, 0, 1, 0});
}

TEST_CASE("crashes count until the end, and what they cost") {
  // Steps of 1 s; at 2.5 s a crash, from which the worker is back 10 s later, with half a second to do again.
  const auto numbers = [](double end_s) {
    return in_child([=] {
      Job job = scripted_job(star(1, 0, 1e9), [](Worker& worker) {
        while (worker.next_step()) worker.compute().gradient();
      });
      job.workload.layers.front().forward_s = 0.4;
      job.workload.layers.front().backward_s = 0.6;
      job.failures.crashes = {{0, 2.5}};
      job.failures.restart_s = 10;
      job.stop = {.time_s = end_s};
      const RunRecord record = simulate_job(job);
      std::vector<double> all = {record.end_s, static_cast<double>(record.workers[0].steps)};
      for (const char* name : {"crashes", "lost_work_s", "downtime_s"}) all.push_back(record.extra.at(name));
      return all;
    });
  };
  CHECK(numbers(2.25) == std::vector<double>{2.25, 2, 0, 0, 0});
  CHECK(numbers(8) == std::vector<double>{8, 2, 1, 0.5, 5.5});
  CHECK(numbers(20) == std::vector<double>{20, 9, 1, 0.5, 10});
}

}  // namespace simsgd::test::engine_run_end
