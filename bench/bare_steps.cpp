#include "bench/bare_steps.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "sim/roles/lockstep.hpp"
#include "sim/step_cost.hpp"

namespace simsgd::bench {

namespace {

struct Sum {
  Plan plan;
  Fidelity fidelity;
  double ready_s;     // from the begin of the step's computing
  double occupies_s;  // the device, as predicted
  std::vector<double> posted_s;
};

std::vector<Sum> sums_of(const Job& job, const Lockstep& lockstep) {
  const PassTimes times(job.workload);
  std::vector<int> ranks(static_cast<std::size_t>(job.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<Sum> sums;
  const double before_s =
      (job.workload.micro_batches - 1) * (times.forward_s + times.backward_s) + times.forward_s;
  for (std::size_t i = 0; i < lockstep.sums.size(); ++i) {
    const AllReduce& sum = lockstep.sums[i];
    Plan plan = plan_by_policy(job.network.collectives, job.cluster, ranks,
                               {CollectiveOp::all_reduce, sum.bytes, 0, sum.tensors, sum.schedule});
    const Fidelity fidelity = plan.choose(job.network.fidelity, false, Beside::computing).fidelity;
    if (fidelity != Fidelity::closed && fidelity != Fidelity::steps)
      throw std::runtime_error("the bare loop knows `closed` and `steps`");
    const double occupies_s = predicted_s(plan);
    sums.push_back({std::move(plan), fidelity, before_s + times.tensor_ready_s[lockstep.ready_at[i]],
                    occupies_s, std::vector<double>(ranks.size())});
  }
  return sums;
}

}  // namespace

double bare_steps_s(const Job& job) {
  const auto workers = static_cast<std::size_t>(job.workers());
  std::vector<Sum> sums = sums_of(job, *lockstep_of(*job.algorithm));
  const double step_s = job.workload.step_compute_s();
  const double slowdown = job.cluster.device.communication_slowdown;
  std::vector<double> time_s(workers, 0.0), end_s(workers, 0.0), busy_until_s(workers, 0.0);
  for (std::uint64_t step = 1; step <= job.stop.steps; ++step) {
    for (std::size_t w = 0; w < workers; ++w) {
      const StepCost cost = step_cost(job, {.rank = static_cast<int>(w), .step = step}, step_s);
      double now_s = time_s[w] + cost.delay_s, done_s = 0;
      // Until the device has communicated it computes slower.
      const auto compute_to = [&](double nominal_s) {
        const double work_s = (nominal_s - done_s) * cost.scale * cost.straggle;
        const double slow_s = std::clamp((busy_until_s[w] - now_s) / (1 + slowdown), 0.0, work_s);
        now_s += work_s + slow_s * slowdown;
        done_s = nominal_s;
      };
      for (Sum& sum : sums) {
        compute_to(sum.ready_s);
        sum.posted_s[w] = now_s;
        busy_until_s[w] = std::max(busy_until_s[w], now_s) + sum.occupies_s;
      }
      compute_to(step_s);
      time_s[w] = now_s;
    }
    for (Sum& sum : sums) {
      // One after another on each worker.
      for (std::size_t w = 0; w < workers; ++w) sum.posted_s[w] = std::max(sum.posted_s[w], end_s[w]);
      if (sum.fidelity == Fidelity::closed)
        sum.plan.ends_by_closed_form(sum.posted_s, end_s);
      else
        sum.plan.ends_by_steps(sum.posted_s, nullptr, end_s);
    }
    for (std::size_t w = 0; w < workers; ++w) time_s[w] = std::max(time_s[w], end_s[w]);
  }
  return *std::max_element(time_s.begin(), time_s.end());
}

}  // namespace simsgd::bench
