// The end of a run by one rule for all methods: what every method has done at the instant that is asked for.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "algorithms/plugin.hpp"
#include "sim/engine/simulate.hpp"
#include "sim/record.hpp"
#include "sim/recording/learning_curve.hpp"
#include "sim/recording/metrics.hpp"
#include "sim/recording/step_log.hpp"
#include "tests/algorithms/recorded_scenarios.hpp"
#include "tests/engine/slow_first.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_end_of_all_methods {

using engine::slow_first;

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
  double end_s = 0, evaluated_s = -1, breakdown = 0, iteration = 0, drawn_s = 0;
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
  job.stop = stop;
  Samples samples;
  StepLog log(0, job.workers());
  SimulationOptions options;
  options.observers = {&samples, &log};
  options.timeline = true;
  const SimulationResult result = simulate(job, options);
  const RunRecord& record = result.record;
  Told run;
  run.end_s = record.end_s;
  for (const MetricValue& metric : metric_values(record, job)) {
    if (metric.name == "iteration_time_mean_s") run.iteration = metric.value;
    for (const ActivityInfo& each : activities())
      if (metric.name == activity_metric(each.activity)) run.breakdown += metric.value;
  }
  for (const TimelineEvent& event : result.timeline.events())
    run.drawn_s = std::max(run.drawn_s, event.end_s);
  for (std::size_t i = 0; i < log.rows().size(); ++i) {
    const StepRow& row = log.rows()[i];
    run.steps.push_back(
        {static_cast<int>(row.worker), row.end_s, samples.ended[i], booked_s(row.activity_s)});
  }
  std::stable_sort(run.steps.begin(), run.steps.end(),
                   [](const Seen& a, const Seen& b) { return a.end_s < b.end_s; });
  for (const SeriesPoint& point : record.series) run.losses.emplace_back(point.time_s, point.train_loss);
  run.counts = steps_of(record);
  for (const WorkerRecord& worker : record.workers)
    run.workers.push_back({0, worker.end_s, worker.samples, booked_s(worker.activity_s)});
  if (!record.evaluations.empty()) {
    const EvaluationPoint& last = record.evaluations.back();
    run.evaluated_s = last.time_s;
    run.last_steps.assign(last.worker_steps.begin(), last.worker_steps.end());
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
  std::map<std::string, Json> all;
  for (const auto& [name, scenarios] : scenarios_by_algorithm()) {
    Json& scenario = all[name] = scenarios.front();
    scenario["stragglers"].push_back({{"name", "constant"}, {"factor", 4}, {"workers", {0}}});
    scenario["record"] = {{"timeline_events", 5000}};
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

TEST_CASE("whenever a run ends, no link carried more than it can, and nothing was on its way for longer") {
  for (const auto& [name, scenarios] : scenarios_by_algorithm())
    for (Json scenario : scenarios) {
      if (scenario["workload"] == "self") continue;  // which is a learner's
      scenario["learner"] = nullptr;
      scenario.erase("target");
      CAPTURE(scenario["algorithm"].dump());
      for (const double end_s : {0.02, 0.05, 0.11, 0.3}) {
        Job job = job_of(scenario);
        job.stop = {.time_s = end_s};
        const RunRecord record = simulate_job(job);
        for (const LinkRecord& link : record.links)
          CHECK(link.bytes <= link.bandwidth_Bps * record.end_s * (1 + 1e-9));
        // Between groups and within them, hsdp has two channels.
        const double most_s = (name == "hsdp" ? 2 : 1) * record.end_s * (1 + 1e-9);
        for (const WorkerRecord& worker : record.workers)
          for (const double seconds : worker.communication_s) CHECK(seconds <= most_s);
      }
    }
}

TEST_CASE("without exchanges a worker has the steps that fit, however rarely it would wait for others") {
  // Steps of 0.25 s, of rank 0 1 s; until 10 s 40 and 10 of them. By t all together 7 floor(4 t) + floor(t):
  // 159 at 5.5 s, 166 at 5.75 s.
  const auto run = [](const std::string& name, const Json& options, double time_s, double samples) {
    Job job = slow_first(name, 4, options);
    job.stop = {.time_s = time_s, .samples = samples};
    const RunRecord record = simulate_job(job);
    std::vector<double> all = steps_of(record);
    all.push_back(record.end_s);
    return all;
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
  const RunRecord record = simulate_job(make());
  std::vector<double> found = {record.end_s};
  for (const EvaluationPoint& point : record.evaluations)
    found.insert(found.end(), {point.time_s, static_cast<double>(point.worker_steps[0]),
                               static_cast<double>(point.worker_steps[7]), point.test_loss});
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
  const std::vector<double> numbers = {record.end_s, static_cast<double>(record.series.size()),
                                       initial ? 1.0 : 0, parts};
  CHECK(numbers == std::vector<double>{1e-9, 0, 1, 0});
}

TEST_CASE("crashes count until the end, and what they cost") {
  // Steps of 1 s; at 2.5 s a crash, from which the worker is back 10 s later, with half a second to do again.
  const auto numbers = [](double end_s) {
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
  };
  CHECK(numbers(2.25) == std::vector<double>{2.25, 2, 0, 0, 0});
  CHECK(numbers(8) == std::vector<double>{8, 2, 1, 0.5, 5.5});
  CHECK(numbers(20) == std::vector<double>{20, 9, 1, 0.5, 10});
}

}  // namespace simsgd::test::engine_end_of_all_methods
