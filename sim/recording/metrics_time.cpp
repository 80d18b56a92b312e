// Metrics of time: throughput, the duration of a step and its parts, communication by kind.
#include <fmt/format.h>

#include <algorithm>

#include "sim/recording/metric_tables.hpp"

namespace simsgd {

namespace {

using Value = std::optional<double>;

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

template <Activity activity>
Value activity_s(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    return worker.activity_s[static_cast<std::size_t>(activity)];
  });
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

template <int percent>
Value iteration_quantile(const RunRecord& record, const Job&) {
  if (record.step_times_s.empty()) return std::nullopt;
  return quantile(record.step_times_s, percent / 100.0);
}

template <Traffic traffic>
Value exposed_s(const RunRecord& record, const Job&) {
  return per_step(
      record, [](const WorkerRecord& worker) { return worker.exposed_s[static_cast<std::size_t>(traffic)]; });
}

template <Traffic traffic>
Value hidden_s(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    const auto kind = static_cast<std::size_t>(traffic);
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

Value exchange_s(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    double sum = 0;
    for (const Activity part : {Activity::host, Activity::communication, Activity::wait})
      sum += worker.activity_s[static_cast<std::size_t>(part)];
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

// The functions above, by name. What follows a name: unit, definition, function.
std::vector<Metric> step_metrics() {
  return {
      {"throughput_samples_per_s", "1/s",
       "Training samples whose gradient was used, of all workers, per second of the run.", throughput},
      {"scaling_efficiency", "1",
       "Throughput per worker over the throughput of one device alone (the workload's one-device time). No "
       "value without that time.",
       scaling_efficiency},
      {"iteration_time_mean_s", "s",
       "Time of a step: mean over workers of a worker's time divided by its steps. The sum of the eight "
       "parts that follow the percentiles.",
       iteration_mean},
      {"iteration_time_p50_s", "s",
       "Median of the durations of all steps of all workers (or of an even sample of them).",
       iteration_quantile<50>},
      {"iteration_time_p95_s", "s", "95th percentile of the same durations.", iteration_quantile<95>},
      {"iteration_time_p99_s", "s", "99th percentile of the same durations.", iteration_quantile<99>},
      {"compute_s", "s", "Per step: forward and backward passes and the optimizer at nominal speed.",
       activity_s<Activity::compute>},
      {"straggle_s", "s", "Per step: what stragglers add to it.", activity_s<Activity::straggle>},
      {"selection_s", "s", "Per step: choosing the entries of a sparse gradient.",
       activity_s<Activity::selection>},
      {"factor_s", "s", "Per step: K-FAC factors and preconditioning.", activity_s<Activity::factor>},
      {"inverse_s", "s", "Per step: K-FAC inversions.", activity_s<Activity::inverse>},
      {"host_s", "s",
       "Per step: launching, packing, staging and other copies on the host, where the worker waits for them. "
       "What a receiver does at the end of a message (adding up, merging) is part of communication.",
       activity_s<Activity::host>},
      {"communication_exposed_s", "s",
       "Per step: waiting for bytes that are on their way, and computing slower because they are.",
       activity_s<Activity::communication>},
      {"wait_s", "s", "Per step: waiting for others that have not arrived yet.", activity_s<Activity::wait>},
  };
}

template <Traffic traffic>
Value not_hidden_s(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    return worker.not_hidden_s[static_cast<std::size_t>(traffic)];
  });
}

std::vector<Metric> not_hidden_metrics() {
  const std::string definition =
      "Per step: what the worker lost to collectives with {}, but for waiting for others to come: bytes on "
      "their "
      "way, host work, and computing that they slowed. Part of communication_exposed_s and host_s.";
  std::vector<Metric> all;
  const auto add = [&](const std::string& kind, const std::string& what, auto value) {
    all.push_back(
        {kind + "_communication_not_hidden_s", "s", fmt::format(fmt::runtime(definition), what), value});
  };
  add("gradient", "gradients", not_hidden_s<Traffic::gradient>);
  add("model", "models", not_hidden_s<Traffic::model>);
  add("factor", "K-FAC factors", not_hidden_s<Traffic::factor>);
  add("inverse", "K-FAC inverses", not_hidden_s<Traffic::inverse>);
  add("control", "control messages", not_hidden_s<Traffic::control>);
  return all;
}

std::vector<Metric> communication_metrics() {
  return {
      {"gradient_communication_exposed_s", "s",
       "Per step: waiting for gradients on their way; part of communication_exposed_s.",
       exposed_s<Traffic::gradient>},
      {"gradient_communication_hidden_s", "s",
       "Per step: gradients on their way while the worker did something else.", hidden_s<Traffic::gradient>},
      {"model_communication_exposed_s", "s",
       "Per step: waiting for models on their way; part of communication_exposed_s.",
       exposed_s<Traffic::model>},
      {"model_communication_hidden_s", "s",
       "Per step: models on their way while the worker did something else.", hidden_s<Traffic::model>},
      {"factor_communication_exposed_s", "s",
       "Per step: waiting for K-FAC factors on their way; part of communication_exposed_s.",
       exposed_s<Traffic::factor>},
      {"factor_communication_hidden_s", "s",
       "Per step: K-FAC factors on their way while the worker did something else.",
       hidden_s<Traffic::factor>},
      {"inverse_communication_exposed_s", "s",
       "Per step: waiting for K-FAC inverses on their way; part of communication_exposed_s.",
       exposed_s<Traffic::inverse>},
      {"inverse_communication_hidden_s", "s",
       "Per step: K-FAC inverses on their way while the worker did something else.",
       hidden_s<Traffic::inverse>},
      {"control_communication_exposed_s", "s",
       "Per step: waiting for control messages on their way; part of communication_exposed_s.",
       exposed_s<Traffic::control>},
      {"control_communication_hidden_s", "s",
       "Per step: control messages on their way while the worker did something else.",
       hidden_s<Traffic::control>},
      {"exchange_s", "s",
       "Per step: host_s, communication_exposed_s and wait_s together, what exchanging with others costs.",
       exchange_s},
      {"bytes_sent_per_worker_per_step", "B",
       "Bytes that a worker sends in a step, of all kinds; mean over workers.", bytes_per_step},
  };
}

template <Traffic traffic>
Value bytes_sent(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    return worker.bytes_sent[static_cast<std::size_t>(traffic)];
  });
}

std::vector<Metric> bytes_metrics() {
  std::vector<Metric> all;
  const auto add = [&](const std::string& kind, const std::string& what, auto value) {
    all.push_back({kind + "_bytes_sent_per_worker_per_step", "B",
                   fmt::format("Of bytes_sent_per_worker_per_step, those of {}.", what), value});
  };
  add("gradient", "gradients", bytes_sent<Traffic::gradient>);
  add("model", "models", bytes_sent<Traffic::model>);
  add("factor", "K-FAC factors", bytes_sent<Traffic::factor>);
  add("inverse", "K-FAC inverses", bytes_sent<Traffic::inverse>);
  add("control", "control messages", bytes_sent<Traffic::control>);
  return all;
}

}  // namespace

std::vector<Metric> time_metrics() {
  std::vector<Metric> all = step_metrics();
  for (Metric& metric : communication_metrics()) all.push_back(std::move(metric));
  for (Metric& metric : not_hidden_metrics()) all.push_back(std::move(metric));
  for (Metric& metric : bytes_metrics()) all.push_back(std::move(metric));
  return all;
}

}  // namespace simsgd
