// Wait-avoiding collectives by hand: who takes part with what, what a late rank sees, and what waits for
// what.
#include <doctest/doctest.h>

#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_wait_avoiding_service {

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

}  // namespace simsgd::test::algorithms_wait_avoiding_service
