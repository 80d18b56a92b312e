// Eager-SGD: its arithmetic by hand, every gradient used once, replicas that agree.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/algorithms/wait_avoiding_support.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test::algorithms_wait_avoiding_eager {

namespace {

Job learning_job(int workers, const std::string& algorithm, const Json& parameters, std::uint64_t steps) {
  Job job = paced_job(std::vector<double>(static_cast<std::size_t>(workers), 1.0), steps);
  add_learner(job, 8);
  use_algorithm(job, algorithm, parameters);
  return job;
}

void be_late(Job& job) {
  job.workload.compute_factor = {Distribution::Kind::exponential, 0.5, 0.5, 1, {}, {}};
}

}  // namespace

TEST_CASE("a late worker gives null, and its gradient goes into the next operation that it is in time for") {
  // Gradient x - 1, learning rate 1/2; rank 0 needs 1 s a step, rank 1 3.5 s.
  //   1 s: (-1 + null) / 2,           x = 0.25
  //   2 s: (-0.75 + null) / 2,        x = 0.4375
  //   3 s: (-0.5625 + null) / 2,      x = 0.578125
  //   4 s: (-0.421875 - 1) / 2,       x = 0.93359375: rank 1 came at 3.5 s with -1
  // Rank 1 applies the same results later.
  const std::vector<double> models = final_models([] {
    Job job = paced_job({1.0, 3.5}, 4);
    add_parabola(job, 0.5);
    use_algorithm(job, "eager_sgd");
    return job;
  });
  CHECK(models[0] == doctest::Approx(0.93359375).epsilon(1e-6));
  CHECK(models[1] == models[0]);
}

TEST_CASE("staleness counts the steps between a gradient and the operation that takes it") {
  // Until 4.5 s rank 0 gives 4 gradients at once; rank 1's first goes into version 4, 3 steps late.
  Job job = paced_job({1.0, 3.5}, 1000);
  job.stop.time_s = 4.5;
  use_algorithm(job, "eager_sgd");
  std::vector<double> staleness;
  for (const WorkerRecord& worker : simulate_job(job).workers)
    staleness.insert(staleness.end(), {worker.staleness_sum, static_cast<double>(worker.staleness_count)});
  CHECK(staleness == std::vector<double>{0, 4, 3, 1});
}

TEST_CASE("without delays it gives the models of Allreduce-SGD, solo and majority") {
  const auto synchronous = final_models([] { return learning_job(4, "allreduce_sgd", Json::object(), 40); });
  for (const char* activation : {"solo", "majority"}) {
    CAPTURE(activation);
    const auto eager = final_models([=] {
      return learning_job(4, "eager_sgd", {{"activation", activation}}, 40);
    });
    CHECK(worst_difference(eager, synchronous) < 1e-5);
  }
}

TEST_CASE("with delays all replicas are equal at the end, on any number of workers, and have learned") {
  for (const int workers : {1, 2, 3, 5, 8}) {
    for (const char* activation : {"solo", "majority"}) {
      CAPTURE(workers);
      CAPTURE(activation);
      const auto models = final_models([=] {
        Job job = learning_job(workers, "eager_sgd", {{"activation", activation}}, 40);
        be_late(job);
        return job;
      });
      const std::size_t size = models.size() / static_cast<std::size_t>(workers);
      double moved = 0;
      for (std::size_t i = 0; i < models.size(); ++i) {
        CHECK(models[i] == models[i % size]);
        moved = std::max(moved, std::fabs(models[i]));
      }
      CHECK(moved > 1e-2);
    }
  }
}

}  // namespace simsgd::test::algorithms_wait_avoiding_eager
