// Allreduce-SGD and local SGD: what they compute, on a cluster without time and in the simulation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_synchronous {

namespace {

Job learning_job(int workers, int batch, const std::string& algorithm, const Json& parameters,
                 std::uint64_t steps) {
  Job job = scripted_job(star(workers, 1e-6, 1e9), nullptr, 36);
  job.workload.layers.front().tensors = {20, 10, 6};  // three messages, with fusion off
  job.workload.layers.front().forward_s = 1e-3;
  job.workload.layers.front().backward_s = 2e-3;
  add_learner(job, batch);
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

}  // namespace

TEST_CASE("Allreduce-SGD over P workers of batch b gives the loss curve of one worker of batch P b") {
  const auto one = losses_of(simulate_job(learning_job(1, 64, "allreduce_sgd", Json::object(), 100)));
  REQUIRE(one.size() == 100);
  CHECK(one.back() < 0.5 * one.front());  // it learns
  for (const int workers : {2, 8}) {
    for (const char* fusion : {"none", "threshold", "all"}) {
      CAPTURE(workers);
      CAPTURE(fusion);
      const auto many = losses_of(
          simulate_job(learning_job(workers, 64 / workers, "allreduce_sgd", {{"fusion", fusion}}, 100)));
      CHECK(worst_relative_difference(many, one) < 1e-5);
    }
  }
}

TEST_CASE("local SGD with period 1 gives the loss curve of Allreduce-SGD") {
  const auto synchronous = losses_of(simulate_job(learning_job(4, 16, "allreduce_sgd", Json::object(), 100)));
  const auto local = losses_of(simulate_job(learning_job(4, 16, "local_sgd", {{"period", 1}}, 100)));
  CHECK(worst_relative_difference(local, synchronous) < 1e-5);
}

TEST_CASE("local SGD with a longer period gives another curve, and its models agree after each averaging") {
  const auto synchronous = losses_of(simulate_job(learning_job(4, 16, "allreduce_sgd", Json::object(), 50)));
  const auto local = losses_of(simulate_job(learning_job(4, 16, "local_sgd", {{"period", 10}}, 50)));
  CHECK(worst_relative_difference(local, synchronous) > 1e-3);
  const FakeResult at_averaging = run_fake(learning_job(4, 16, "local_sgd", {{"period", 10}}, 50));
  CHECK(at_averaging.models[0] == at_averaging.models[3]);
  const FakeResult between = run_fake(learning_job(4, 16, "local_sgd", {{"period", 10}}, 55));
  CHECK(between.models[0] != between.models[3]);
}

TEST_CASE("the simulation and a cluster without time compute the same losses") {
  for (const char* algorithm : {"allreduce_sgd", "local_sgd"}) {
    CAPTURE(algorithm);
    const Json parameters = std::string(algorithm) == "local_sgd" ? Json{{"period", 4}} : Json::object();
    const auto simulated = losses_of(simulate_job(learning_job(4, 16, algorithm, parameters, 40)));
    const FakeResult fake = run_fake(learning_job(4, 16, algorithm, parameters, 40));
    std::vector<double> mean(40, 0.0);
    for (const std::vector<double>& losses : fake.losses)
      for (std::size_t step = 0; step < 40; ++step) mean[step] += losses[step] / 4;
    CHECK(worst_relative_difference(simulated, mean) < 1e-12);
  }
}

TEST_CASE("the number of threads changes no bit of the losses") {
  const auto make = [] { return learning_job(8, 8, "local_sgd", {{"period", 3}}, 60); };
  const auto one = losses_of(simulate_job(make(), 1));
  CHECK(losses_of(simulate_job(make(), 1)) == one);
  CHECK(losses_of(simulate_job(make(), 2)) == one);
  CHECK(losses_of(simulate_job(make(), 4)) == one);
}

TEST_CASE("losses are the same at every fidelity, and whoever is late") {
  const auto one = losses_of(simulate_job(learning_job(4, 16, "local_sgd", {{"period", 2}}, 30)));
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
    CAPTURE(fidelity_name(fidelity));
    Job job = learning_job(4, 16, "local_sgd", {{"period", 2}}, 30);
    job.network.fidelity = fidelity;
    job.workload.compute_factor = {Distribution::Kind::exponential, 0.5, 0.5, 1, {}, {}};
    CHECK(losses_of(simulate_job(job)) == one);
  }
}

}  // namespace simsgd::test::algorithms_synchronous
