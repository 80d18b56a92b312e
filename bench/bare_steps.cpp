#include "bench/bare_steps.hpp"

#include <algorithm>
#include <utility>

#include "sim/roles/compute.hpp"

namespace simsgd::bench {

BareStep bare_step(const Job& job, std::uint32_t worker, std::uint64_t step) {
  const double nominal_s = job.workload.step_compute_s();
  const StepCost cost = step_cost(job, {.rank = static_cast<int>(worker), .step = step}, nominal_s);
  return {cost.delay_s, nominal_s * cost.scale * cost.straggle};
}

double bare_computed_s(const Job& job, double now_s, double work_s, double busy_until_s) {
  const double slowdown = job.cluster.device.communication_slowdown;
  return now_s + work_s + slowdown * std::clamp((busy_until_s - now_s) / (1 + slowdown), 0.0, work_s);
}

BareNews::BareNews(const Job& job, BareLoop& loop, std::uint32_t kind)
    : loop_(loop),
      kind_(kind),
      workers_(static_cast<std::uint32_t>(job.workers())),
      phases_(static_cast<std::uint32_t>(ceil_log2(job.workers()))) {
  const HostCosts& host = job.cluster.host;
  const std::vector<int>& endpoint = job.cluster.endpoint_of_rank;
  for (std::uint32_t worker = 0; worker < workers_; ++worker)
    for (std::uint32_t phase = 0; phase < phases_; ++phase)
      hop_s_.push_back(
          loop.latency_s(loop.path(endpoint[worker], endpoint[(worker + (1U << phase)) % workers_])) +
          host.before_s(0) + host.message_s + host.after_s(0));
}

void BareNews::tell(std::uint32_t worker, std::uint32_t number, std::uint32_t phase) {
  const std::size_t place = std::size_t{number} * workers_ + worker;
  if (told_from_.size() <= place) told_from_.resize((std::size_t{number} + 1) * workers_, phases_);
  for (std::uint32_t next = phase; next < told_from_[place]; ++next)
    loop_.at({loop_.now_s() + hop_s_[worker * phases_ + next], kind_, (worker + (1U << next)) % workers_,
              number * 64 + next});
  told_from_[place] = std::min(told_from_[place], phase);
}

}  // namespace simsgd::bench
