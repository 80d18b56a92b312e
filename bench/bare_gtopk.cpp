#include "bench/bare_gtopk.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "algorithms/sparse/sparse_exchange.hpp"
#include "algorithms/sparse/sparsification.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/step_cost.hpp"

namespace simsgd::bench {

double bare_gtopk_s(const Job& job, double density) {
  SparsificationOptions options;
  options.density = density;
  AlgorithmContext context;
  context.workers = job.workers();
  context.workload = &job.workload;
  context.cluster = &job.cluster;
  options.complete(context);
  const SparsificationSettings settings = sparsification_of(options, context);
  const double entries = settings.message_entries(0), bytes = entries * settings.bytes_per_entry;
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const Plan plan(merge_schedule({.workers = job.workers(),
                                  .entries = entries,
                                  .bytes_per_entry = settings.bytes_per_entry,
                                  .merge_s = settings.merge_s}),
                  job.cluster, ranks, bytes, 0);
  if (!plan.sharing().dedicated || job.cluster.device.communication_slowdown > 0)
    throw std::runtime_error("the bare loop knows messages that nothing meets");

  const double step_s = job.workload.step_compute_s();
  std::vector<double> time_s(ranks.size(), 0.0), end_s;
  for (std::uint64_t step = 1; step <= job.stop.steps; ++step) {
    for (std::size_t w = 0; w < ranks.size(); ++w) {
      const StepCost cost = step_cost(job, {.rank = static_cast<int>(w), .step = step}, step_s);
      time_s[w] += cost.delay_s + step_s * cost.scale * cost.straggle +
                   (settings.accumulate_s + settings.selection_s.front()) /
                       job.cluster.speed_of_rank(static_cast<int>(w)) +
                   settings.crossing_s + plan.host_before_s();
    }
    for (const StageCosts& stage : plan.stage_costs()) {
      end_s = time_s;
      for (std::size_t from = 0; from < ranks.size(); ++from) {
        if (stage.stage->to[from] < 0) continue;
        const auto to = static_cast<std::size_t>(stage.stage->to[from]);
        const double there_s = std::max(time_s[from], time_s[to]) + stage.message_s(from);
        end_s[from] = std::max(end_s[from], there_s);
        end_s[to] = std::max(end_s[to], there_s + stage.reduce_s);
      }
      time_s.swap(end_s);
    }
    for (double& each : time_s) each += plan.host_after_s();
  }
  return *std::max_element(time_s.begin(), time_s.end());
}

}  // namespace simsgd::bench
