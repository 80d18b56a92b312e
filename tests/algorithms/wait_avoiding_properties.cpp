// What must hold under any delay, in hundreds of random scenarios: every rank runs each version exactly once
// and in order, a result holds one contribution of each member of its group, nothing is lost or used twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/wait_avoiding/wait_avoiding.hpp"
#include "tests/algorithms/wait_avoiding_support.hpp"

namespace simsgd::test::algorithms_wait_avoiding_properties {

namespace {

/// A scenario drawn from `seed`: workers, groups, period, pace, network, fidelity.
struct Drawn {
  explicit Drawn(std::uint64_t seed_in) : seed(seed_in), draws({seed_in, Purpose::resampling, 0, 0}) {
    workers = 1 << draws.below(6);
    size = 1 << draws.below(static_cast<std::uint32_t>(ceil_log2(workers)) + 1);
    period = 1 + draws.below(12);
    steps = 5 + draws.below(25);
    dynamic = draws.below(2) == 0;
    initiator = draws.below(3) == 0 ? Initiator::majority : Initiator::solo;
  }

  Job job(std::function<void(Worker&)> body) {
    return drawn_job({seed, workers, steps, 5}, draws, std::move(body));
  }

  std::uint64_t seed;
  Stream draws;
  int workers, size;
  std::uint64_t period, steps;
  bool dynamic;
  Initiator initiator;
};

Tensor one_entry(Worker& worker, double value) {
  TensorData tensor;
  tensor.values.assign(static_cast<std::size_t>(worker.size()), 0.0F);
  tensor.values[static_cast<std::size_t>(worker.rank())] = static_cast<float>(value);
  return worker.executor().constant(std::move(tensor));
}

/// The number of broken promises of a model-averaging run: rank r gives its step number plus one in entry r.
double broken_by_averaging(Drawn& drawn) {
  double broken = 0;
  const auto expect = [&broken](bool holds) { broken += holds ? 0 : 1; };
  const Job job = drawn.job([&](Worker& worker) {
    double given = 1;
    std::uint64_t next = 0;
    const auto group_in = [&](std::uint64_t version) {
      return butterfly_group(worker.rank(), drawn.workers, drawn.size, drawn.dynamic ? version : 0);
    };
    WaitAvoiding calls(worker, {drawn.initiator, 1}, [&](std::uint64_t version, bool arrived) {
      expect(version == next++);
      expect(arrived == (version < worker.step() && given > static_cast<double>(version) + 1));
      auto sum = timed<AllReduce>(worker.workload().model_bytes(), "");
      sum.schedule = "recursive_doubling";
      sum.channel = 1;
      sum.group = worker.collectives().group(group_in(version));
      sum.contribution = one_entry(worker, given);
      return sum;
    });
    while (worker.next_step()) {
      worker.compute().gradient();
      given = static_cast<double>(worker.step()) + 1;
      const WaitAvoiding::Outcome outcome = calls.call();
      expect(outcome.version == worker.step() - 1);
      expect(outcome.seen >= outcome.version);
      expect(!outcome.fresh || outcome.seen == outcome.version);
      const std::vector<float>& result = worker.executor().get(outcome.result).values;
      const std::vector<int> group = group_in(outcome.version);
      double newest = 0;
      for (int rank = 0; rank < drawn.workers; ++rank) {
        const auto entry = static_cast<double>(result[static_cast<std::size_t>(rank)]);
        expect((entry > 0) == std::binary_search(group.begin(), group.end(), rank));
        if (rank == worker.rank()) expect(outcome.fresh == (entry == given));
        newest = std::max(newest, entry);
      }
      expect(newest <= static_cast<double>(outcome.version) + 2);  // nobody is ahead of its version
      if (drawn.initiator == Initiator::solo && drawn.size == drawn.workers)
        expect(newest == static_cast<double>(outcome.version) + 2);  // its activator had come
      if (worker.step() % drawn.period == 0) worker.collectives().run(Barrier());
    }
    expect(next == drawn.steps);
  });
  simulate_job(job);
  return broken;
}

/// The same of a gradient-averaging run: gradients are ones, so that results count them.
double broken_by_gradients(Drawn& drawn) {
  const auto ranks = static_cast<std::size_t>(drawn.workers);
  std::vector<double> used(ranks, 0), left(ranks, 0);
  double broken = 0;
  const Job job = drawn.job([&](Worker& worker) {
    const auto me = static_cast<std::size_t>(worker.rank());
    double buffer = 0;
    std::vector<float> sum(ranks, 0.0F);
    WaitAvoiding calls(worker, {drawn.initiator, 1}, [&](std::uint64_t, bool arrived) {
      if (arrived && buffer == 0) ++broken;  // who has come gives something
      auto all = timed<AllReduce>(worker.workload().model_bytes(), "recursive_doubling");
      all.contribution = one_entry(worker, std::exchange(buffer, 0));
      return all;
    });
    while (worker.next_step()) {
      worker.compute().gradient();
      ++buffer;
      const std::vector<float> result = worker.executor().get(calls.call().result).values;
      for (std::size_t rank = 0; rank < ranks; ++rank) sum[rank] += result[rank];
    }
    left[me] = buffer;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (me == 0) used[rank] = static_cast<double>(sum[rank]);
      if (used[rank] != 0 && used[rank] != static_cast<double>(sum[rank])) ++broken;  // all see the same
    }
  });
  simulate_job(job);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (used[rank] + left[rank] != static_cast<double>(drawn.steps)) ++broken;
  return broken;
}

}  // namespace

TEST_CASE("averaging: each version once and in order, one contribution of each member, in 500 random runs") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    Drawn drawn(seed);
    const double broken = broken_by_averaging(drawn);
    CHECK(broken == 0);
  }
}

TEST_CASE("gradients: every one is used once or still in its buffer at the end, in 300 random runs") {
  for (std::uint64_t seed = 1001; seed <= 1300; ++seed) {
    CAPTURE(seed);
    Drawn drawn(seed);
    const double broken = broken_by_gradients(drawn);
    CHECK(broken == 0);
  }
}

}  // namespace simsgd::test::algorithms_wait_avoiding_properties
