// Which averages WAGMA and eager-SGD take.
#include <numeric>
#include <utility>

#include "bench/bare_programs.hpp"
#include "bench/bare_wait_avoiding.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/stacks/policy.hpp"

namespace simsgd::bench {

namespace {

BareAverage average_of(const Job& job, std::uint32_t mask, bool blocks) {
  std::vector<int> ranks;
  for (int rank = 0; rank < job.workers(); ++rank)
    if ((static_cast<std::uint32_t>(rank) & ~mask) == 0) ranks.push_back(rank);
  const Plan plan = plan_by_policy(job.network.collectives, job.cluster, ranks,
                                   {.bytes = job.workload.model_bytes(), .schedule = "recursive_doubling"});
  return {mask, blocks, plan.host_before_s(), plan.host_after_s(), predicted_s(plan)};
}

}  // namespace

double bare_wagma_s(const Job& job) {
  const auto bits = static_cast<std::uint32_t>(ceil_log2(job.workers())), group_bits = (bits + 1) / 2;
  constexpr std::uint32_t kPeriod = 10;
  std::vector<BareAverage> averages;
  for (std::uint32_t t = 0; t < kPeriod * std::lcm(bits, group_bits); ++t) {
    std::uint32_t mask = 0;
    for (std::uint32_t phase = 0; phase < group_bits; ++phase) mask |= 1U << (t * group_bits + phase) % bits;
    const bool blocks = (t + 1) % kPeriod == 0;
    averages.push_back(average_of(job, blocks ? (1U << bits) - 1 : mask, blocks));
  }
  return BareWaitAvoiding(job, std::move(averages)).end_s();
}

double bare_eager_sgd_s(const Job& job) {
  return BareWaitAvoiding(job, {average_of(job, static_cast<std::uint32_t>(job.workers()) - 1, false)})
      .end_s();
}

}  // namespace simsgd::bench
