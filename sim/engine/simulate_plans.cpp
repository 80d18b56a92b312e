#include "sim/engine/simulate_plans.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <simgrid/s4u.hpp>

#include "sim/engine/platform.hpp"
#include "sim/engine/schedule_run.hpp"

namespace simsgd {

namespace {

// Runs one plan from now on; the calling actor sleeps meanwhile.
double run_plan(Transport& transport, const Plan& plan, const std::vector<int>& ranks, Fidelity fidelity,
                const JitterDraws& jitter) {
  const double begin = transport.now();
  double last_end = begin;
  int left = plan.ranks();
  const simgrid::s4u::SemaphorePtr finished = simgrid::s4u::Semaphore::create(0);
  ScheduleRun run({&plan, &transport, &ranks, jitter, fidelity == Fidelity::flows,
                   [&](std::int32_t, double end_s, double) {
                     last_end = std::max(last_end, end_s);
                     if (--left == 0) finished->release();
                   }});
  transport.at(begin, [&] {
    for (std::int32_t group_rank = 0; group_rank < plan.ranks(); ++group_rank) run.arrive(group_rank, begin);
  });
  finished->acquire();
  return last_end - begin;
}

}  // namespace

std::vector<double> simulate_plans(const Cluster& cluster, const std::vector<PlanToSimulate>& plans,
                                   const JitterDraws* jitter) {
  std::unique_ptr<simgrid::s4u::Engine> engine = make_engine();
  auto* transport = new Transport(cluster);  // SimGrid's callbacks refer to it until the process ends
  std::vector<int> ranks(static_cast<std::size_t>(cluster.workers()));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<double> times;
  simgrid::s4u::Actor::create("bench", transport->host(0), [&] {
    for (const PlanToSimulate& each : plans) {
      JitterDraws draws;
      if (jitter) draws = *jitter;
      draws.operation += times.size();
      times.push_back(run_plan(*transport, *each.plan, ranks, each.fidelity, draws));
    }
  });
  engine->run();
  (void)engine.release();
  return times;
}

}  // namespace simsgd
