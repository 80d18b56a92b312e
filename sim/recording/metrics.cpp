#include "sim/recording/metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/base/quantiles.hpp"
#include "sim/learn/dataset.hpp"
#include "sim/learn/learner.hpp"
#include "sim/record.hpp"
#include "sim/recording/learning_curve.hpp"

namespace simsgd {

namespace {

using Value = std::optional<double>;

// Metrics of learning and of what a run costs.

/// Steps whose training losses are averaged into train_loss_final.
constexpr std::size_t kFinalSteps = 50;

Value staleness_mean(const RunRecord& record, const Job&) {
  double sum = 0, count = 0;
  for (const WorkerRecord& worker : record.workers) {
    sum += worker.staleness_sum;
    count += static_cast<double>(worker.staleness_count);
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

Value staleness_max(const RunRecord& record, const Job&) {
  Value most;
  for (const WorkerRecord& worker : record.workers)
    if (worker.staleness_count > 0) most = std::max(most.value_or(0), worker.staleness_max);
  return most;
}

Value train_loss_final(const RunRecord& record, const Job& job) {
  const std::size_t steps = std::min(kFinalSteps, record.series.size());
  if (steps == 0 || job.learner == nullptr) return std::nullopt;
  double sum = 0;
  for (std::size_t i = record.series.size() - steps; i < record.series.size(); ++i)
    sum += record.series[i].train_loss;
  return sum / static_cast<double>(steps);
}

auto last_evaluation(double EvaluationPoint::*member) {
  return [member](const RunRecord& record, const Job&) -> Value {
    if (record.evaluations.empty()) return std::nullopt;
    return record.evaluations.back().*member;
  };
}

Value test_bits_per_byte(const RunRecord& record, const Job& job) {
  if (record.evaluations.empty() || !job.learner || !job.learner->has_test()) return std::nullopt;
  if (!job.learner->train_set().is_text()) return std::nullopt;
  return job.learner->bits_per_byte(record.evaluations.back().test_loss);
}

Value time_to_target(const RunRecord& record, const Job& job) {
  return arrival_s(job.target, record.series, record.evaluations);
}

Value cost(const RunRecord& record, const Job& job) {
  const double price_usd_per_h = job.cluster.device.price_usd_per_h;
  double traffic_usd = 0;
  bool traffic_costs = false;
  for (const LinkRecord& link : record.links) {
    traffic_costs |= link.price_usd_per_byte > 0;
    traffic_usd += link.bytes * link.price_usd_per_byte;
  }
  if (!(price_usd_per_h > 0) && !traffic_costs) return std::nullopt;
  const double gpus = static_cast<double>(record.workers.size()) * job.cluster.gpus_per_worker();
  return price_usd_per_h * gpus * record.end_s / 3600 + traffic_usd;
}

Value energy(const RunRecord& record, const Job& job) {
  const Device& device = job.cluster.device;
  if (!(device.busy_W > 0)) return std::nullopt;
  double joules = 0;
  for (const WorkerRecord& worker : record.workers) {
    const double busy_s = busy_time_s(worker);
    joules += busy_s * device.busy_W + std::max(0.0, record.end_s - busy_s) * device.idle_W;
  }
  return joules * job.cluster.gpus_per_worker();
}

/// Losses, accuracy, staleness, time to target.
std::vector<Metric> learning_metrics() {
  return {
      {"staleness_mean", "1",
       "Mean age in steps of the gradients or models that were applied. No value where none has an age.",
       staleness_mean},
      {"staleness_max", "1", "Greatest such age. No value where none has an age.", staleness_max},
      {"consensus_distance", "1",
       "sqrt(mean over workers of |x_i - mean|^2) of the models at the end. No value without a learner.",
       last_evaluation(&EvaluationPoint::consensus_distance), Better::less},
      {"train_loss_final", "1",
       "Mean over the last 50 steps (or all, if fewer) of the training loss of a step, train_loss of the curve. No value without a learner.",
       train_loss_final, Better::less},
      {"test_loss_final", "1",
       "Mean loss of the mean model on the test set at the end. No value without a learner or a test set.",
       last_evaluation(&EvaluationPoint::test_loss), Better::less},
      {"test_accuracy_final", "1",
       "Share of the test set that the mean model classifies correctly at the end. No value without a learner or a test set, or for a regression.",
       last_evaluation(&EvaluationPoint::test_accuracy), Better::more},
      {"test_bits_per_byte_final", "1",
       "Loss on a test set of text, test_loss_final in nats a token, in bits for each byte of UTF-8. No value for other data.",
       test_bits_per_byte, Better::less},
      {"time_to_target_s", "s",
       "First time at which the target was met by the mean of `window` training losses or evaluations. No value without a target, where it was not met, or where nothing was evaluated before the end.",
       time_to_target, Better::less},
  };
}

auto extra(const char* name) {
  return [name](const RunRecord& record, const Job&) -> Value {
    const auto found = record.extra.find(name);
    if (found == record.extra.end()) return std::nullopt;
    return found->second;
  };
}

/// Duration, memory, cost, energy.
std::vector<Metric> resource_metrics() {
  return {
      {"crashes", "1", "Crashes of all workers. No value, as for the next three, where nothing can fail.",
       extra("crashes"), Better::less},
      {"lost_steps", "1", "Steps completed since the last checkpoint, summed over the crashes.",
       extra("lost_steps"), Better::less},
      {"lost_work_s", "s", "Computing that crashes made void: of these steps, and in progress.",
       extra("lost_work_s"), Better::less},
      {"downtime_s", "s", "From the crashes until the workers were back, summed.", extra("downtime_s"),
       Better::less},
      {"simulated_time_s", "s",
       "Duration of the run: the instant at which it was over (wall time of a real run).",
       [](const RunRecord& record, const Job&) -> Value { return record.end_s; }, Better::less},
      {"events", "1", "Events that the simulation processed; a measure of its work. 0 in a real run.",
       [](const RunRecord& record, const Job&) -> Value { return static_cast<double>(record.events); }},
      {"memory_bytes_per_gpu", "B",
       "Parameters, gradients, optimizer state and the activations of a micro-batch, fp32.",
       [](const RunRecord&, const Job& job) -> Value { return total_bytes(job.memory); }, Better::less},
      {"cost_usd", "USD",
       "Price of the workers' GPUs for the duration of the run, and of the traffic between sites. No value where neither has a price.",
       cost, Better::less},
      {"energy_J", "J",
       "Of the workers' GPUs: busy power while computing or straggling, idle power else. No value where the device has no power.",
       energy, Better::less},
  };
}

// Metrics of time: throughput, the duration of a step and its parts, communication by kind.

/// Mean over the workers that completed a step of what `of` says about them, per step.
template <class Of>
Value per_step(const RunRecord& record, Of of) {
  double sum = 0;
  std::size_t count = 0;
  for (const WorkerRecord& worker : record.workers) {
    if (worker.steps == 0) continue;
    sum += of(worker) / static_cast<double>(worker.steps);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

/// That, as a metric.
template <class Of>
auto of_a_step(Of of) {
  return [of](const RunRecord& record, const Job&) { return per_step(record, of); };
}

/// The sum of the breakdown, so that the parts sum to it to the last bits.
Value iteration_mean(const RunRecord& record, const Job&) {
  double total = 0;
  for (std::size_t a = 0; a < kActivities; ++a) {
    const Value part = per_step(record, [a](const WorkerRecord& worker) { return worker.activity_s[a]; });
    if (!part) return std::nullopt;
    total += *part;
  }
  return total;
}

auto iteration_quantile(int percent) {
  return [percent](const RunRecord& record, const Job&) -> Value {
    if (record.step_times_s.empty()) return std::nullopt;
    return quantile(record.step_times_s, percent / 100.0);
  };
}

Value longest_step(const RunRecord& record, const Job&) {
  const auto longest = std::max_element(record.step_times_s.begin(), record.step_times_s.end());
  return longest == record.step_times_s.end() ? Value() : Value(*longest);
}

/// What workers have for each kind of traffic.
auto of_traffic(std::array<double, kTraffics> WorkerTotals::*each, Traffic traffic) {
  return of_a_step([each, kind = static_cast<std::size_t>(traffic)](const WorkerRecord& worker) {
    return (worker.*each)[kind];
  });
}

auto hidden_s(Traffic traffic) {
  return of_a_step([kind = static_cast<std::size_t>(traffic)](const WorkerRecord& worker) {
    return std::max(0.0, worker.communication_s[kind] - worker.exposed_s[kind]);
  });
}

Value bytes_per_step(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    double sum = 0;
    for (const double bytes : worker.bytes_sent) sum += bytes;
    return sum;
  });
}

/// What exchanging with others costs.
constexpr std::array kExchange = {Activity::host, Activity::communication, Activity::wait};

Value exchange_s(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    double sum = 0;
    for (const Activity part : kExchange) sum += worker.activity_s[static_cast<std::size_t>(part)];
    return sum;
  });
}

Value throughput(const RunRecord& record, const Job&) {
  if (!(record.end_s > 0)) return std::nullopt;
  double samples = 0;
  for (const WorkerRecord& worker : record.workers) samples += worker.samples;
  return samples / record.end_s;
}

Value scaling_efficiency(const RunRecord& record, const Job& job) {
  const Value total = throughput(record, job);
  if (!total || record.workers.empty() || !(job.workload.one_device_step_s > 0)) return std::nullopt;
  const double alone = job.workload.batch / job.workload.one_device_step_s;
  return *total / static_cast<double>(record.workers.size()) / alone;
}

/// "host_s, communication_exposed_s and wait_s": the metrics of some activities.
template <class Activities>
std::string sum_text(const Activities& parts) {
  std::vector<std::string> names;
  for (const Activity part : parts) names.push_back(activity_metric(part));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::vector<Activity> all_activities() {
  std::vector<Activity> all;
  for (const ActivityInfo& each : activities()) all.push_back(each.activity);
  return all;
}

// The functions above, by name. What follows a name: unit, definition, function.
std::vector<Metric> step_metrics() {
  return {
      {"throughput_samples_per_s", "1/s",
       "Training samples whose gradient was used, of all workers, per second of the run.", throughput,
       Better::more},
      {"scaling_efficiency", "1",
       "Throughput per worker over the throughput of one device alone (the workload's one-device time). No value without that time.",
       scaling_efficiency, Better::more},
      {"iteration_time_mean_s", "s",
       "Time of a step: mean over workers of a worker's time divided by its steps. The sum of " +
           sum_text(all_activities()) + ".",
       iteration_mean, Better::less},
      {"iteration_time_p50_s", "s",
       "Median of the durations of all steps of all workers (or of an even sample of them).",
       iteration_quantile(50), Better::less},
      {"iteration_time_p5_s", "s", "5th percentile of the same durations.", iteration_quantile(5),
       Better::less},
      {"iteration_time_p25_s", "s", "First quartile of the same durations.", iteration_quantile(25),
       Better::less},
      {"iteration_time_p75_s", "s", "Third quartile of the same durations.", iteration_quantile(75),
       Better::less},
      {"iteration_time_p95_s", "s", "95th percentile of the same durations.", iteration_quantile(95),
       Better::less},
      {"iteration_time_p99_s", "s", "99th percentile of the same durations.", iteration_quantile(99),
       Better::less},
      {"iteration_time_max_s", "s", "The longest of all steps of all workers.", longest_step, Better::less},
  };
}

void add_activity_metrics(std::vector<Metric>& all) {
  for (const ActivityInfo& each : activities())
    all.push_back({activity_metric(each.activity), "s", std::string("Per step: ") + each.definition,
                   of_a_step([kind = static_cast<std::size_t>(each.activity)](const WorkerRecord& worker) {
                     return worker.activity_s[kind];
                   }),
                   Better::less});
}

void add_communication_metrics(std::vector<Metric>& all) {
  for (const TrafficInfo& each : traffics()) {
    all.push_back(
        {exposed_metric(each.traffic), "s",
         fmt::format("Per step: waiting for {} on their way; part of communication_exposed_s.", each.plural),
         of_traffic(&WorkerTotals::exposed_s, each.traffic), Better::less});
    all.push_back({hidden_metric(each.traffic), "s",
                   fmt::format("Per step: {} on their way while the worker did something else.", each.plural),
                   hidden_s(each.traffic)});
  }
}

void add_overhead_metrics(std::vector<Metric>& all) {
  for (const TrafficInfo& each : traffics())
    all.push_back(
        {traffic_name(each.traffic) + "_communication_overhead_s", "s",
         fmt::format(
             "Per step: what the worker lost to collectives with {}, except waiting for others: bytes on their way, host work, and computing that they slowed. Part of communication_exposed_s and host_s.",
             each.plural),
         of_traffic(&WorkerTotals::overhead_s, each.traffic), Better::less});
}

void add_bytes_metrics(std::vector<Metric>& all) {
  for (const TrafficInfo& each : traffics())
    all.push_back({traffic_name(each.traffic) + "_bytes_sent_per_worker_per_step", "B",
                   fmt::format("Of bytes_sent_per_worker_per_step, those of {}.", each.plural),
                   of_traffic(&WorkerTotals::bytes_sent, each.traffic), Better::less});
}

/// Throughput, the duration of a step and its parts, communication by kind.
std::vector<Metric> time_metrics() {
  std::vector<Metric> all = step_metrics();
  add_activity_metrics(all);
  add_communication_metrics(all);
  all.push_back({"exchange_s", "s",
                 "Per step: " + sum_text(kExchange) + " together, what exchanging with others costs.",
                 exchange_s, Better::less});
  all.push_back({"bytes_sent_per_worker_per_step", "B",
                 "Bytes that a worker sends in a step, of all kinds; mean over workers.", bytes_per_step,
                 Better::less});
  add_overhead_metrics(all);
  add_bytes_metrics(all);
  return all;
}

}  // namespace

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> table = [] {
    std::vector<Metric> all = time_metrics();
    for (const std::vector<Metric>& more : {learning_metrics(), resource_metrics()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return table;
}

std::vector<MetricValue> metric_values(const RunRecord& record, const Job& job) {
  std::vector<MetricValue> values;
  for (const Metric& metric : metrics()) {
    const std::optional<double> value = metric.value(record, job);
    if (value && std::isfinite(*value)) values.push_back({metric.name, *value});
  }
  for (const auto& [name, value] : record.extra) {
    const bool known = std::any_of(metrics().begin(), metrics().end(),
                                   [&name = name](const Metric& metric) { return metric.name == name; });
    if (!known && std::isfinite(value)) values.push_back({name, value});
  }
  return values;
}

}  // namespace simsgd
