// Metrics of learning and of what a run costs.
#include <algorithm>
#include <span>

#include "sim/learn/dataset.hpp"
#include "sim/learn/learner.hpp"
#include "sim/recording/learning_curve.hpp"
#include "sim/recording/metric_tables.hpp"

namespace simsgd {

namespace {

using Value = std::optional<double>;

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

template <double EvaluationPoint::*member>
Value last_evaluation(const RunRecord& record, const Job&) {
  if (record.evaluations.empty()) return std::nullopt;
  return record.evaluations.back().*member;
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

}  // namespace

std::vector<Metric> learning_metrics() {
  return {
      {"staleness_mean", "1",
       "Mean age in steps of the gradients or models that were applied. No value where none has an age.",
       staleness_mean},
      {"staleness_max", "1", "Greatest such age. No value where none has an age.", staleness_max},
      {"consensus_distance", "1",
       "sqrt(mean over workers of |x_i - mean|^2) of the models at the end. No value without a learner.",
       last_evaluation<&EvaluationPoint::consensus_distance>, Better::less},
      {"train_loss_final", "1",
       "Mean over the last 50 steps (or all, if fewer) of the training loss of a step, train_loss of the curve. No value without a learner.",
       train_loss_final, Better::less},
      {"test_loss_final", "1",
       "Mean loss of the mean model on the test set at the end. No value without a learner or a test set.",
       last_evaluation<&EvaluationPoint::test_loss>, Better::less},
      {"test_accuracy_final", "1",
       "Share of the test set that the mean model classifies correctly at the end. No value without a learner or a test set, or for a regression.",
       last_evaluation<&EvaluationPoint::test_accuracy>, Better::more},
      {"test_bits_per_byte_final", "1",
       "Loss on a test set of text, test_loss_final in nats a token, in bits for each byte of UTF-8. No value for other data.",
       test_bits_per_byte, Better::less},
      {"time_to_target_s", "s",
       "First time at which the target was met by the mean of `window` training losses or evaluations. No value without a target, where it was not met, or where nothing was evaluated before the end.",
       time_to_target, Better::less},
  };
}

template <const char* name>
Value extra(const RunRecord& record, const Job&) {
  const auto found = record.extra.find(name);
  if (found == record.extra.end()) return std::nullopt;
  return found->second;
}
constexpr char kCrashes[] = "crashes", kLostSteps[] = "lost_steps", kLostWork[] = "lost_work_s",
               kDowntime[] = "downtime_s";

std::vector<Metric> resource_metrics() {
  return {
      {kCrashes, "1", "Crashes of all workers. No value, as for the next three, where nothing can fail.",
       extra<kCrashes>, Better::less},
      {kLostSteps, "1", "Steps completed since the last checkpoint, summed over the crashes.",
       extra<kLostSteps>, Better::less},
      {kLostWork, "s", "Computing that crashes made void: of these steps, and in progress.", extra<kLostWork>,
       Better::less},
      {kDowntime, "s", "From the crashes until the workers were back, summed.", extra<kDowntime>,
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

}  // namespace simsgd
