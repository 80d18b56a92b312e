// Push-sum: what its rounds keep.
#include <doctest/doctest.h>

#include "algorithms/gossip/push_sum.hpp"
#include "tests/algorithms/gossip_support.hpp"

namespace simsgd::test::algorithms_gossip_push_sum {

namespace {

struct Sums {
  double weights = 0, numerators = 0;
};

/// The sums over all workers after `rounds` rounds in which worker i begins with the number i + 1.
Sums sums_after(int workers, int neighbours, std::uint64_t rounds, Coupling coupling, bool late) {
  Sums sums;
  const auto push_sum = std::make_shared<std::unique_ptr<PushSumRounds>>();  // shared by the script's copies
  Job job = scripted_job(
      star(workers, 1e-3, 1e9),
      [&sums, push_sum](Worker& worker) {
        PushSumRounds::State state{
            worker.executor().constant({{static_cast<float>(worker.rank() + 1)}, {}, {}}),
            worker.executor().constant({{}, {}, {1.0}})};
        while (worker.next_step()) {
          const Tensor numerator = state.numerator;
          state = (*push_sum)->step(worker, worker.step(), state, [&](const Tensor&) { return numerator; });
        }
        sums.weights += worker.executor().get(state.weight).scalars[0];
        sums.numerators += static_cast<double>(worker.executor().get(state.numerator).values[0]);
      },
      1e6);
  job.workload.layers.front().backward_s = 1;
  job.stop.steps = rounds;
  if (late) be_late(job);
  *push_sum = std::make_unique<PushSumRounds>(PushSumRounds::Settings{
      .workers = workers,
      .neighbours = neighbours,
      .coupling = coupling,
      .buckets = make_buckets(job.workload, {.kind = FusionSettings::Kind::all, .threshold_bytes = 0})});
  simulate_job(job);
  return sums;
}

}  // namespace

TEST_CASE("the weights sum to P and the numerators to what they were, after any number of rounds") {
  for (const int workers : {2, 3, 5, 6, 8, 16}) {
    for (int neighbours = 1; neighbours <= std::min(3, push_sum_period(workers)); ++neighbours) {
      for (const std::uint64_t rounds : {1U, 2U, 7U}) {
        for (const bool late : {false, true}) {
          CAPTURE(workers);
          CAPTURE(neighbours);
          CAPTURE(rounds);
          const Sums sums =
              sums_after(workers, neighbours, rounds, late ? Coupling::neighbour : Coupling::global, late);
          CHECK(sums.weights == doctest::Approx(workers).epsilon(1e-12));
          CHECK(sums.numerators == doctest::Approx(0.5 * workers * (workers + 1)).epsilon(1e-6));
        }
      }
    }
  }
}

TEST_CASE("out-neighbours are at the powers of two, one further in each round") {
  const auto distances = [](int workers, int neighbours, std::uint64_t round) {
    return PushSumRounds({.workers = workers, .neighbours = neighbours, .buckets = {}}).distances(round);
  };
  CHECK(distances(16, 1, 1) == std::vector<int>{1});
  CHECK(distances(16, 1, 4) == std::vector<int>{8});
  CHECK(distances(16, 1, 5) == std::vector<int>{1});
  CHECK(distances(16, 2, 1) == std::vector<int>{1, 2});
  CHECK(distances(16, 2, 4) == std::vector<int>{8, 1});
  CHECK(distances(6, 3, 2) == std::vector<int>{2, 4, 1});
}

TEST_CASE("SGP: scaling the model on the host takes its time twice a step") {
  // A model of 1 MB at 1 ns per byte: 2 ms in each of 5 steps.
  const auto end_s = [](double scale_s_per_byte) {
    Job job = paced_job(std::vector<double>(4, 1.0), 5);
    job.workload.layers.front().tensors = {0.25e6};
    job.cluster.host.scale_s_per_byte = scale_s_per_byte;
    use_method(job, {"sgp"});
    const RunRecord record = simulate_job(job);
    return std::vector<double>{record.end_s, spent_s(record.workers[0], Activity::host)};
  };
  const std::vector<double> without = end_s(0), with = end_s(1e-9);
  CHECK(with[0] - without[0] == doctest::Approx(0.01).epsilon(1e-9));
  CHECK(with[1] - without[1] == doctest::Approx(0.01).epsilon(1e-9));
}

}  // namespace simsgd::test::algorithms_gossip_push_sum
