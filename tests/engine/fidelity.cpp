// The fidelities agree where they claim to: `steps` with `messages` for every schedule, with arrival skew,
// jitter and unequal links; `flows` with `messages` where links are equal or nobody is late.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/collectives/schedules.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_fidelity {

namespace {

struct Setting {
  int ranks = 8;
  double skew_s = 0;     // rank r arrives up to this late, drawn per rank
  bool unequal = false;  // links of 20 % different speed, latencies of a factor of 3
  bool jitter = false;   // exponential, of the size of the latency
  double reduce_s_per_byte = 0;
  double launch_s = 0;
};

Network network_of(const Setting& setting) {
  if (!setting.unequal) return star(setting.ranks, 5e-6, 25e9);
  Stream draws({7, Purpose::algorithm, 0, 0});
  std::vector<double> alpha, bandwidth;
  for (int i = 0; i < setting.ranks; ++i) {
    alpha.push_back(1e-6 + 4e-6 * draws.uniform());
    bandwidth.push_back(25e9 * (0.8 + 0.2 * draws.uniform()));
  }
  return unequal_star(alpha, bandwidth);
}

double arrival(const Setting& setting, int rank, int operation) {
  Stream draws(
      {11, Purpose::algorithm, static_cast<std::uint32_t>(rank), static_cast<std::uint64_t>(operation)});
  return setting.skew_s * draws.uniform();
}

// Ends of three operations in a row on one channel, of every rank.
std::vector<double> ends(const Setting& setting, Fidelity fidelity, const AnyCollective& collective) {
  std::vector<double> all(static_cast<std::size_t>(3 * setting.ranks));
  Job job = scripted_job(network_of(setting), [&](Worker& worker) {
    while (worker.next_step()) {
      for (int operation = 0; operation < 3; ++operation) {
        worker.compute().spend(Activity::compute, arrival(setting, worker.rank(), operation));
        run_any(worker, collective);
        all[3 * static_cast<std::size_t>(worker.rank()) + static_cast<std::size_t>(operation)] = worker.now();
      }
    }
  });
  job.network.fidelity = fidelity;
  job.cluster.host.reduce_s_per_byte = setting.reduce_s_per_byte;
  job.cluster.host.launch_s = setting.launch_s;
  if (setting.jitter) job.network.jitter = {Distribution::Kind::exponential, 0, 5e-6, 1, {}, {}};
  simulate_job(job);
  return all;
}

/// When ranks leave that come together, but for the last one, which comes after a second.
template <class Operation>
std::vector<double> left_tree(const Operation& operation, int ranks, Fidelity fidelity) {
  std::vector<double> left(static_cast<std::size_t>(ranks));
  Job job = scripted_job(star(ranks, 1e-3, 1e9), [&](Worker& worker) {
    while (worker.next_step()) {
      if (worker.rank() == ranks - 1) worker.compute().spend(Activity::compute, 1.0);
      worker.wait(worker.collectives().start(operation));
      left[static_cast<std::size_t>(worker.rank())] = worker.now();
    }
  });
  job.network.fidelity = fidelity;
  simulate_job(job);
  return left;
}

bool possible(const SchedulePlugin& plugin, int ranks) {
  return plugin.info.name != "recursive_halving" || power_of_two_below(ranks) == ranks;
}

}  // namespace

TEST_CASE("steps equals messages for every schedule, with skew, jitter, unequal links and host costs") {
  for (const SchedulePlugin& plugin : schedule_plugins()) {
    for (const int ranks : {2, 5, 8}) {
      if (!possible(plugin, ranks)) continue;
      for (int variant = 0; variant < 8; ++variant) {
        const Setting setting{
            ranks, (variant & 1) ? 3e-4 : 0.0, (variant & 2) != 0, (variant & 4) != 0, 1e-12, 2e-6};
        const AnyCollective collective =
            timed_any(plugin.op, 1e6 + 1, plugin.info.name, plugin.op == CollectiveOp::barrier ? 0 : 1);
        CAPTURE(op_name(plugin.op));
        CAPTURE(plugin.info.name);
        CAPTURE(ranks);
        CAPTURE(variant);
        CHECK(worst_relative_difference(ends(setting, Fidelity::steps, collective),
                                        ends(setting, Fidelity::messages, collective)) < 1e-9);
      }
    }
  }
}

TEST_CASE(
    "closed equals messages on equal links for ring, recursive doubling and Rabenseifner, whatever the arrivals") {
  for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"}) {
    const Setting setting{8, 1e-3, false, false, 0, 0};
    const AnyCollective collective = timed<AllReduce>(1e6, schedule);
    CAPTURE(schedule);
    CHECK(worst_relative_difference(ends(setting, Fidelity::closed, collective),
                                    ends(setting, Fidelity::messages, collective)) < 1e-9);
  }
}

TEST_CASE("flows equals messages on equal links with skew, and on unequal links without") {
  const AnyCollective ring = timed<AllReduce>(1e6, "ring");
  const Setting skewed{8, 1e-3, false, false, 0, 0};
  CHECK(worst_relative_difference(ends(skewed, Fidelity::flows, ring),
                                  ends(skewed, Fidelity::messages, ring)) < 1e-9);
  for (const char* schedule : {"recursive_doubling", "rabenseifner", "tree"}) {
    // Nothing is aggregated: every stage happens once.
    const Setting everything{8, 3e-4, true, false, 0, 0};
    const AnyCollective collective = timed<AllReduce>(1e6, schedule);
    CAPTURE(schedule);
    CHECK(worst_relative_difference(ends(everything, Fidelity::flows, collective),
                                    ends(everything, Fidelity::messages, collective)) < 1e-9);
  }
}

TEST_CASE("the root of a broadcast leaves when its children have been served, however late the others are") {
  // P = 8, root 0: it serves 4, 2 and 1. Rank 7 arrives after one second, and hangs below rank 6.
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
    CAPTURE(fidelity_name(fidelity));
    const std::vector<double> left = left_tree(timed<Broadcast>(1e6, "tree"), 8, fidelity);
    CHECK(left[0] == doctest::Approx(3 * (1e-3 + 1e-3)).epsilon(1e-9));  // 3 messages of 1 MB at 1 GB/s
    CHECK(left[4] == doctest::Approx(3 * (1e-3 + 1e-3)).epsilon(1e-9));  // served first, then serves 6 and 5
    // The closed form knows only the time of rank 7 when all arrive together, 6 ms; the others see its one
    // message.
    const double after = fidelity == Fidelity::closed ? 6e-3 : 2e-3;
    CHECK(left[7] == doctest::Approx(1.0 + after).epsilon(1e-9));
  }
}

TEST_CASE("a leaf of a reduction leaves after its one message; the root waits for all") {
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
    CAPTURE(fidelity_name(fidelity));
    const std::vector<double> left = left_tree(timed<Reduce>(1e6, "tree"), 4, fidelity);
    CHECK(left[1] == doctest::Approx(2e-3).epsilon(1e-9));        // 1 -> 0
    CHECK(left[3] == doctest::Approx(1.0 + 2e-3).epsilon(1e-9));  // 3 -> 2, late
    CHECK(left[0] == doctest::Approx(1.0 + 4e-3).epsilon(1e-9));  // and 2 -> 0 after that
  }
}

}  // namespace simsgd::test::engine_fidelity
