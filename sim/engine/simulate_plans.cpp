#include "sim/engine/simulate_plans.hpp"

#include <algorithm>
#include <numeric>

#include "sim/engine/schedule_run.hpp"

namespace simsgd {

namespace {

// Runs one plan from now on.
double run_plan(Transport& transport, const Plan& plan, const std::vector<int>& ranks, Fidelity fidelity,
                const JitterDraws& jitter) {
  const double begin = transport.now();
  double last_end = begin;
  ScheduleRun run({&plan, &transport, &ranks, jitter, fidelity == Fidelity::flows,
                   [&](std::int32_t, double end_s, double) { last_end = std::max(last_end, end_s); }});
  run.all_arrive_at(begin);
  transport.run(nullptr);
  return last_end - begin;
}

}  // namespace

std::vector<double> simulate_plans(const Cluster& cluster, const std::vector<PlanToSimulate>& plans,
                                   const JitterDraws* jitter, Contention contention) {
  Transport transport(cluster, contention);
  std::vector<int> ranks(static_cast<std::size_t>(cluster.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<double> times;
  for (const PlanToSimulate& each : plans) {
    JitterDraws draws;
    if (jitter) draws = *jitter;
    draws.operation += times.size();
    times.push_back(run_plan(transport, *each.plan, ranks, each.fidelity, draws));
  }
  return times;
}

}  // namespace simsgd
