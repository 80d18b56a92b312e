// How fast all ranks learn that a version has begun; and the activation micro-benchmark.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_wait_avoiding_activation {

namespace {

constexpr double kAlpha_s = 2e-6;

/// When each rank heard of version 0, which `first` announces at 1 s and nobody else reaches.
std::vector<double> hearings(int ranks, int first, Fidelity fidelity) {
  std::vector<double> heard_s(static_cast<std::size_t>(ranks), -1);
  Job job = scripted_job(star(ranks, kAlpha_s, 1e9), [&](Worker& worker) {
    double& mine = heard_s[static_cast<std::size_t>(worker.rank())];
    Activation activation(worker, 1, [&](std::uint64_t) { mine = worker.now(); });
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, worker.rank() == first ? 1.0 : 2.0);
      if (worker.rank() == first) activation.announce(0);
      worker.compute().spend(Activity::compute, 1.0);
    }
  });
  job.network.fidelity = fidelity;
  simulate_job(job);
  return heard_s;
}

/// Calls of a wait-avoiding all-reduce after random computing: when each of each rank ended, and whether it
/// was fresh.
std::vector<double> random_calls(int ranks, std::uint64_t seed, Initiator initiator, Fidelity fidelity) {
  constexpr std::uint64_t kSteps = 30;
  std::vector<double> seen(static_cast<std::size_t>(ranks) * kSteps * 2);
  std::vector<double> alpha_s, Bps;  // every port its own
  for (int port = 0; port < ranks; ++port) {
    Stream draws({seed, Purpose::algorithm, static_cast<std::uint32_t>(1000 + port), 0});
    alpha_s.push_back(1e-6 + 2e-4 * draws.uniform());
    Bps.push_back(1e9 * (1 + draws.uniform()));
  }
  Job job = scripted_job(unequal_star(alpha_s, Bps), [&](Worker& worker) {
    WaitAvoiding calls(worker, {initiator, 1},
                       [&](std::uint64_t, bool) { return timed<AllReduce>(1e5, "recursive_doubling"); });
    while (worker.next_step()) {
      Stream draws = worker.stream(Purpose::algorithm);
      worker.compute().spend(Activity::compute, 1e-3 * draws.uniform());
      const WaitAvoiding::Outcome outcome = calls.call();
      const std::size_t at = 2 * (static_cast<std::size_t>(worker.rank()) * kSteps +
                                  static_cast<std::size_t>(worker.step() - 1));
      seen[at] = worker.now();
      seen[at + 1] = outcome.fresh ? 1 : 0;
    }
  });
  job.seed = seed;
  job.stop.steps = kSteps;
  job.network.fidelity = fidelity;
  simulate_job(job);
  return seen;
}

struct Latencies {
  double mean_s = 0;       // over ranks and rounds, from a rank's arrival to its end of the call
  double active = 0;       // ranks that had arrived when the operation started
  double of_active_s = 0;  // mean over those alone
};

/// 32 ranks arrive 1 ms after one another, in every round anew, and all-reduce 64 bytes. Every message of an
/// activation and every operation costs `launch_s` of software.
Latencies micro_benchmark(int rounds, Initiator initiator, double launch_s = 0) {
  std::vector<double> sums(3, 0.0);
  Job job = scripted_job(star(32, kAlpha_s, 1e10), [&](Worker& worker) {
    WaitAvoiding calls(worker, {initiator, 1}, [&](std::uint64_t, bool) {
      auto sum = timed<AllReduce>(64, "recursive_doubling");
      sum.channel = 1;
      return sum;
    });
    while (worker.next_step()) {
      worker.collectives().run(Barrier());
      worker.compute().spend(Activity::compute, 1e-3 * worker.rank());
      const double arrived_s = worker.now();
      const bool fresh = calls.call().fresh;
      sums[0] += worker.now() - arrived_s;
      sums[1] += fresh ? 1 : 0;
      sums[2] += fresh ? worker.now() - arrived_s : 0;
    }
  });
  job.cluster.host.launch_s = launch_s;
  job.stop.steps = static_cast<std::uint64_t>(rounds);
  simulate_job(job);
  return {sums[0] / (32.0 * rounds), sums[1] / rounds, sums[2] / sums[1]};
}

}  // namespace

TEST_CASE("one activator: each rank hears after as many messages as its distance has bits") {
  // 8 ranks, rank 3 activates at 1 s. Distance 1, 2, 4: one message of 2 us; 3, 5, 6: two; 7: three.
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages}) {
    CAPTURE(fidelity_name(fidelity));
    const std::vector<double> heard = hearings(8, 3, fidelity);
    const int messages[] = {0, 1, 1, 2, 1, 2, 2, 3};
    for (int distance = 0; distance < 8; ++distance) {
      CAPTURE(distance);
      CHECK(heard[static_cast<std::size_t>((3 + distance) % 8)] ==
            doctest::Approx(1.0 + messages[distance] * kAlpha_s).epsilon(1e-12));
    }
  }
}

TEST_CASE("everybody hears within ceil(log2 P) messages, also where P is not a power of two") {
  for (const int ranks : {2, 3, 5, 6, 7, 12, 16, 33}) {
    for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::messages}) {
      CAPTURE(ranks);
      const std::vector<double> heard = hearings(ranks, ranks - 1, fidelity);
      CHECK(*std::max_element(heard.begin(), heard.end()) <= 1.0 + ceil_log2(ranks) * kAlpha_s * (1 + 1e-6));
      CHECK(*std::min_element(heard.begin(), heard.end()) == doctest::Approx(1.0).epsilon(1e-12));
    }
  }
}

TEST_CASE("activation by recurrence and by messages give the same times, whoever activates when") {
  for (const int ranks : {2, 3, 4, 7, 8, 16, 21}) {
    for (const Initiator initiator : {Initiator::solo, Initiator::majority}) {
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(ranks);
        CAPTURE(seed);
        const std::vector<double> messages = random_calls(ranks, seed, initiator, Fidelity::messages);
        const std::vector<double> recurrence = random_calls(ranks, seed, initiator, Fidelity::automatic);
        CHECK(worst_difference(messages, recurrence) < 1e-11);  // seconds, of some 20 ms
      }
    }
  }
}

TEST_CASE("micro-benchmark, solo: one rank is active, and nobody waits for the skew") {
  // The first rank tells the farthest after 5 messages of 2 us; 5 phases of (2 us + 6.4 ns) follow. The
  // others come later and find it done: 20.03 us / 32 on average. Measured: 0.25 ms.
  const Latencies solo = micro_benchmark(4, Initiator::solo);
  CHECK(solo.active == 1.0);
  CHECK(solo.mean_s == doctest::Approx((5 * kAlpha_s + 5 * (kAlpha_s + 64 / 1e10)) / 32).epsilon(1e-6));
}

TEST_CASE("micro-benchmark, majority: half of the ranks are active and wait a third of the mean skew") {
  // Initiator k: the k ranks before it wait k, k - 1, ... 1 ms: k (k + 1) / 2 / 32 ms on average, and k + 1
  // are active. Uniform k: (E k^2 + E k) / 64 = (325.5 + 15.5) / 64 = 5.33 ms, and 16.5. Measured: 5.3
  // ms, 16.
  constexpr int kRounds = 1500;
  double mean_ms = 0, active = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double k = drawn_initiator(1, static_cast<std::uint64_t>(round), 32);
    mean_ms += k * (k + 1) / 64 / kRounds;
    active += (k + 1) / kRounds;
  }
  const Latencies majority = micro_benchmark(kRounds, Initiator::majority);
  CHECK(majority.mean_s == doctest::Approx(1e-3 * mean_ms).epsilon(5e-3));  // and 20 us of messages
  CHECK(majority.active == doctest::Approx(active).epsilon(1e-12));
  CHECK(majority.mean_s == doctest::Approx(5.33e-3).epsilon(0.05));  // sampling: 4.8 ms / sqrt(1500) = 2.3 %
  CHECK(majority.active == doctest::Approx(16.5).epsilon(0.05));
}

TEST_CASE("micro-benchmark, blocking: everybody waits for the last, half the skew on average") {
  // (31 + 30 + ... + 0) / 32 = 15.5 ms, and 5 phases. Measured: 15.55 ms.
  std::vector<double> total(1, 0.0);
  Job job = scripted_job(star(32, kAlpha_s, 1e10), [&](Worker& worker) {
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, 1e-3 * worker.rank());
      const double arrived_s = worker.now();
      worker.wait(worker.collectives().start(timed<AllReduce>(64, "recursive_doubling")));
      total[0] += worker.now() - arrived_s;
    }
  });
  simulate_job(job);
  CHECK(total[0] / 32 == doctest::Approx(15.5e-3 + 5 * (kAlpha_s + 64 / 1e10)).epsilon(1e-9));
}

TEST_CASE(
    "micro-benchmark with 40 us of software per message: what was measured, for those that are active") {
  // Blocking, measured: 15.55 ms, of which 15.5 ms are skew and 10 us are five messages: 40 us of launching.
  // Solo with as much: 5 messages of an activation, 42 us each, and the operation, 50 us: 0.26 ms for the one
  // rank that is active. Measured: 0.25 ms, one active. The others come later, find it done and wait for
  // nothing, so the mean over all ranks is 0.26 ms / 32.
  const Latencies solo = micro_benchmark(4, Initiator::solo, 40e-6);
  CHECK(solo.active == 1.0);
  CHECK(solo.of_active_s == doctest::Approx(5 * 42e-6 + 50e-6).epsilon(1e-3));
  CHECK(solo.of_active_s == doctest::Approx(0.25e-3).epsilon(0.05));
  CHECK(solo.mean_s == doctest::Approx(solo.of_active_s / 32).epsilon(1e-9));
  // Majority, measured: 5.3 ms over all ranks, about 16 active.
  const Latencies majority = micro_benchmark(1500, Initiator::majority, 40e-6);
  CHECK(majority.mean_s == doctest::Approx(5.3e-3).epsilon(0.05));
  CHECK(majority.active == doctest::Approx(16).epsilon(0.05));
}

// Wait-avoiding collectives by hand: who takes part with what, what a late rank sees, and what waits for
// what.

namespace {

Tensor number(Worker& worker, float value) { return worker.executor().constant({{value}, {}, {}}); }

double value_of(Worker& worker, const Tensor& values) {
  return static_cast<double>(worker.executor().get(values).values.at(0));
}

}  // namespace

TEST_CASE("a late rank gives what it gave last, and sees the latest of the sums it missed") {
  // Rank 0 comes every second with 10, 20, 30, 40. Rank 1 comes at 3.5 s with 1, at 4.5 s with 2, ...;
  // before, it gives 0. The sums are 10, 20, 30, and at 4 s 40 + 1.
  const std::vector<double> seen = [&] {
    std::vector<double> all;  // of rank 1: own result, fresh, version seen, its result
    std::vector<double> times;
    Job job = scripted_job(star(2, 1e-6, 1e9), [&](Worker& worker) {
      Tensor buffer = number(worker, 0);
      WaitAvoiding calls(worker, {Initiator::solo, 1}, [&](std::uint64_t, bool) {
        auto sum = timed<AllReduce>(4, "recursive_doubling");
        sum.contribution = buffer;
        return sum;
      });
      while (worker.next_step()) {
        const bool late = worker.rank() == 1;
        worker.compute().spend(Activity::compute, late && worker.step() == 1 ? 3.5 : 1.0);
        buffer = number(worker, static_cast<float>(worker.step()) * (late ? 1.0F : 10.0F));
        const WaitAvoiding::Outcome outcome = calls.call();
        if (!late) {
          times.push_back(worker.now());
          continue;
        }
        all.insert(all.end(), {value_of(worker, outcome.result), outcome.fresh ? 1.0 : 0.0,
                               static_cast<double>(outcome.seen), value_of(worker, outcome.seen_result)});
      }
    });
    job.stop.steps = 4;
    simulate_job(job);
    all.insert(all.end(), times.begin(), times.end());
    return all;
  }();
  const std::vector<double> by_rank_1(seen.begin(), seen.begin() + 16);
  CHECK(by_rank_1 == std::vector<double>{10, 0, 2, 30,    // at 3.5 s versions 0, 1, 2 are through
                                         20, 0, 3, 41,    // at 4.5 s also version 3
                                         30, 0, 3, 41,    //
                                         41, 0, 3, 41});  //
  for (int call = 0; call < 4; ++call)  // rank 0 never waits: two messages of 1 us and 4 bytes each call
    CHECK(seen[static_cast<std::size_t>(16 + call)] ==
          doctest::Approx(1.0 + call + (call + 1) * (2e-6 + 4e-9)).epsilon(1e-9));
}

TEST_CASE("the fastest rank starts the operations of all groups, not only of its own") {
  // 4 ranks in pairs. Rank 0 comes at 1 s, the others at 9 s; an operation takes 1 s.
  std::vector<double> times(4, -1), ended(4, -1);
  Job job = scripted_job(star(4, 1e-6, 1e9), [&](Worker& worker) {
    const auto me = static_cast<std::size_t>(worker.rank());
    WaitAvoiding calls(worker, {Initiator::solo, 1}, [&](std::uint64_t, bool arrived) {
      times[me] = worker.now() + (arrived ? 100 : 0);
      auto sum = timed<AllReduce>(1e9, "recursive_doubling");
      sum.group = worker.collectives().group(butterfly_group(worker.rank(), 4, 2, 0));
      return sum;
    });
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, worker.rank() == 0 ? 1.0 : 9.0);
      calls.call();
      ended[me] = worker.now();
    }
  });
  simulate_job(job);
  times.insert(times.end(), ended.begin(), ended.end());
  // Rank 0 has arrived (100); ranks 1 and 2 hear after one message, rank 3 after two.
  const double expected[] = {101.0, 1.000001, 1.000001, 1.000002, 2.000002, 9, 9, 9};
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    CHECK(times[i] == doctest::Approx(expected[i]).epsilon(1e-9));
  }
}

TEST_CASE("a version starts on a rank when the one before it is through there, though activated earlier") {
  // Pairs {0,1} {2,3}, then {0,2} {1,3}. Ports 2 and 3 are ten times slower: version 0 takes 1 s on {0,1} and
  // 10 s on {2,3}. Rank 0 comes at 1 s, and again at 3 s: rank 2 can begin at 11 s, and 10 s are needed.
  std::vector<double> ends(8, -1);
  Job job = scripted_job(unequal_star({0, 0, 0, 0}, {1e9, 1e9, 1e8, 1e8}), [&](Worker& worker) {
    WaitAvoiding calls(worker, {Initiator::solo, 1}, [&](std::uint64_t version, bool) {
      auto sum = timed<AllReduce>(1e9, "recursive_doubling");
      sum.group = worker.collectives().group(butterfly_group(worker.rank(), 4, 2, version));
      return sum;
    });
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, worker.rank() == 0 ? 1.0 : 30.0);
      calls.call();
      ends[static_cast<std::size_t>(worker.rank()) * 2 + worker.step() - 1] = worker.now();
    }
  });
  job.stop.steps = 2;
  simulate_job(job);
  CHECK(ends[0] == doctest::Approx(2.0).epsilon(1e-9));
  CHECK(ends[1] == doctest::Approx(21.0).epsilon(1e-9));
  for (const std::size_t rank : {1U, 2U, 3U}) {  // everything has happened when they come
    CHECK(ends[2 * rank] == doctest::Approx(30.0).epsilon(1e-9));
    CHECK(ends[2 * rank + 1] == doctest::Approx(60.0).epsilon(1e-9));
  }
}

TEST_CASE("a rank that comes while its version runs waits for its end, and is stale") {
  // An operation of 1 s starts at 1 s; rank 1 comes at 1.5 s.
  std::vector<double> seen(2, -1);
  Job job = scripted_job(star(2, 0, 1e9), [&](Worker& worker) {
    WaitAvoiding calls(worker, {Initiator::solo, 1},
                       [](std::uint64_t, bool) { return timed<AllReduce>(1e9, "recursive_doubling"); });
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, worker.rank() == 0 ? 1.0 : 1.5);
      const bool fresh = calls.call().fresh;
      if (worker.rank() == 1) seen = {worker.now(), fresh ? 1.0 : 0.0};
    }
  });
  simulate_job(job);
  CHECK(seen[0] == doctest::Approx(2.0).epsilon(1e-12));
  CHECK(seen[1] == 0);
}

TEST_CASE("the waiting of a rank is booked: for the initiator as wait, for bytes as communication") {
  // Majority: rank k of 2 is drawn, the other comes 1 s earlier; then 1 GB at 1 GB/s.
  const int initiator = drawn_initiator(1, 0, 2);
  Job job = scripted_job(star(2, 0, 1e9), [&](Worker& worker) {
    WaitAvoiding calls(worker, {Initiator::majority, 1},
                       [](std::uint64_t, bool) { return timed<AllReduce>(1e9, "recursive_doubling"); });
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, worker.rank() == initiator ? 2.0 : 1.0);
      calls.call();
    }
  });
  const RunRecord record = simulate_job(job);
  const WorkerRecord& early = record.workers[static_cast<std::size_t>(1 - initiator)];
  CHECK(spent_s(early, Activity::wait) == doctest::Approx(1.0).epsilon(1e-12));
  CHECK(spent_s(early, Activity::communication) == doctest::Approx(1.0).epsilon(1e-12));
  CHECK(record.end_s == doctest::Approx(3.0).epsilon(1e-12));
}

}  // namespace simsgd::test::algorithms_wait_avoiding_activation
