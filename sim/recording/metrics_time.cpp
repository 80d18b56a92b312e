// Metrics of time: throughput, the duration of a step and its parts, communication by kind.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "sim/activities.hpp"
#include "sim/base/quantiles.hpp"
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

Value longest_step(const RunRecord& record, const Job&) {
  const auto longest = std::max_element(record.step_times_s.begin(), record.step_times_s.end());
  return longest == record.step_times_s.end() ? Value() : Value(*longest);
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

template <Traffic traffic>
Value overhead_s(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    return worker.overhead_s[static_cast<std::size_t>(traffic)];
  });
}

template <Traffic traffic>
Value bytes_sent(const RunRecord& record, const Job&) {
  return per_step(record, [](const WorkerRecord& worker) {
    return worker.bytes_sent[static_cast<std::size_t>(traffic)];
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
       iteration_quantile<50>, Better::less},
      {"iteration_time_p5_s", "s", "5th percentile of the same durations.", iteration_quantile<5>,
       Better::less},
      {"iteration_time_p25_s", "s", "First quartile of the same durations.", iteration_quantile<25>,
       Better::less},
      {"iteration_time_p75_s", "s", "Third quartile of the same durations.", iteration_quantile<75>,
       Better::less},
      {"iteration_time_p95_s", "s", "95th percentile of the same durations.", iteration_quantile<95>,
       Better::less},
      {"iteration_time_p99_s", "s", "99th percentile of the same durations.", iteration_quantile<99>,
       Better::less},
      {"iteration_time_max_s", "s", "The longest of all steps of all workers.", longest_step, Better::less},
  };
}

// Calls `add` with each index of a table, as a constant.
template <std::size_t count, class Add>
void for_each_index(Add add) {
  [&]<std::size_t... index>(std::index_sequence<index...>) {
    (add(std::integral_constant<std::size_t, index>()), ...);
  }
  (std::make_index_sequence<count>());
}

void add_activity_metrics(std::vector<Metric>& all) {
  for_each_index<kActivities>([&all](auto index) {
    constexpr auto kActivity = static_cast<Activity>(index());
    all.push_back({activity_metric(kActivity), "s",
                   std::string("Per step: ") + activities()[index].definition, activity_s<kActivity>,
                   Better::less});
  });
}

void add_communication_metrics(std::vector<Metric>& all) {
  for_each_index<kTraffics>([&all](auto index) {
    constexpr auto kTraffic = static_cast<Traffic>(index());
    const std::string what = traffics()[index].plural;
    all.push_back(
        {exposed_metric(kTraffic), "s",
         fmt::format("Per step: waiting for {} on their way; part of communication_exposed_s.", what),
         exposed_s<kTraffic>, Better::less});
    all.push_back({hidden_metric(kTraffic), "s",
                   fmt::format("Per step: {} on their way while the worker did something else.", what),
                   hidden_s<kTraffic>});
  });
}

void add_overhead_metrics(std::vector<Metric>& all) {
  for_each_index<kTraffics>([&all](auto index) {
    constexpr auto kTraffic = static_cast<Traffic>(index());
    all.push_back(
        {traffic_name(kTraffic) + "_communication_overhead_s", "s",
         fmt::format(
             "Per step: what the worker lost to collectives with {}, but for waiting for others to come: bytes on their way, host work, and computing that they slowed. Part of communication_exposed_s and host_s.",
             traffics()[index].plural),
         overhead_s<kTraffic>, Better::less});
  });
}

void add_bytes_metrics(std::vector<Metric>& all) {
  for_each_index<kTraffics>([&all](auto index) {
    constexpr auto kTraffic = static_cast<Traffic>(index());
    all.push_back({traffic_name(kTraffic) + "_bytes_sent_per_worker_per_step", "B",
                   fmt::format("Of bytes_sent_per_worker_per_step, those of {}.", traffics()[index].plural),
                   bytes_sent<kTraffic>, Better::less});
  });
}

}  // namespace

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

}  // namespace simsgd
