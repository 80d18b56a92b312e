// Non-blocking SGD: eight micro-batches a step, which end with the one that a worker computes when it hears
// that another one has done all of its own; then a ring all-reduce.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "bench/bare_programs.hpp"
#include "bench/bare_steps.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/roles/compute.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd::bench {

namespace {

constexpr std::uint32_t kParts = 8;

// Where no two messages meet: each begins when both sides have ended their last ones.
void pass_ring(const Plan& plan, std::vector<double>& time_s) {
  const std::size_t ranks = time_s.size();
  std::vector<double> there_s(ranks + 1);  // by receiver; the last one is the first one's
  for (double& each : time_s) each += plan.host_before_s();
  for (const StageCosts& stage : plan.stage_costs()) {
    for (std::size_t i = 0; i < ranks; ++i)
      if (static_cast<std::size_t>(stage.stage->to[i]) != (i + 1) % ranks)
        throw std::runtime_error("the bare loop knows rings");
    std::vector<double> takes_s(ranks);
    for (std::size_t i = 0; i < ranks; ++i) takes_s[i] = stage.message_s(i);
    for (int repeat = 0; repeat < stage.stage->repeat; ++repeat) {
      for (std::size_t i = 0; i + 1 < ranks; ++i)
        there_s[i + 1] = std::max(time_s[i], time_s[i + 1]) + takes_s[i];
      there_s[0] = std::max(time_s[ranks - 1], time_s[0]) + takes_s[ranks - 1];
      there_s[ranks] = there_s[0];
      for (std::size_t i = 0; i < ranks; ++i)
        time_s[i] = std::max(there_s[i] + stage.reduce_s, there_s[i + 1]);
    }
  }
  for (double& each : time_s) each += plan.host_after_s();
}

}  // namespace

double bare_nonblocking_s(const Job& job) {
  enum Kind : std::uint32_t { kFinished, kNews };
  const auto workers = static_cast<std::uint32_t>(job.workers());
  std::vector<int> ranks(workers);
  std::iota(ranks.begin(), ranks.end(), 0);
  const Plan plan = plan_by_policy(job.network.collectives, job.cluster, ranks,
                                   {.bytes = job.workload.model_bytes() + job.workload.bytes_per_parameter});
  BareLoop loop(job.cluster.network, 0);
  BareNews news(job, loop, kNews);
  const double step_s = job.workload.step_compute_s();
  std::vector<double> time_s(workers, 0.0), heard_s(workers);
  std::vector<std::array<double, kParts + 1>> ends_s(workers);  // of parts; from the begin of the first
  for (std::uint32_t step = 1; step <= job.stop.steps; ++step) {
    std::fill(heard_s.begin(), heard_s.end(), std::numeric_limits<double>::infinity());
    for (std::uint32_t w = 0; w < workers; ++w) {
      ends_s[w][0] = time_s[w];
      for (std::uint32_t part = 0; part < kParts; ++part) {
        const StepCost cost =
            step_cost(job, {.rank = static_cast<int>(w), .step = step, .index = part, .of = kParts}, step_s);
        ends_s[w][part + 1] = ends_s[w][part] + cost.delay_s +
                              step_s * cost.scale * cost.straggle / job.workload.parts_per_step(kParts);
      }
      loop.at({ends_s[w][kParts], kFinished, w});
    }
    for (BareEvent event; loop.next(event);) {
      if (event.kind == kNews || event.time_s < heard_s[event.a])
        news.tell(event.a, step, event.kind == kNews ? event.b % 64 + 1 : 0);
      heard_s[event.a] = std::min(heard_s[event.a], event.time_s);
    }
    for (std::uint32_t w = 0; w < workers; ++w)
      time_s[w] = *std::find_if(ends_s[w].begin(), ends_s[w].end() - 1,
                                [&](double end_s) { return end_s >= heard_s[w]; });
    pass_ring(plan, time_s);
  }
  return *std::max_element(time_s.begin(), time_s.end());
}

}  // namespace simsgd::bench
