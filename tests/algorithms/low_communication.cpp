// DiLoCo: what it is where its outer optimizer does nothing of its own, what its outer optimizer does by
// hand, and how long it takes.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/low_communication/outer_nesterov.hpp"
#include "sim/learn/optimizer.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::algorithms_low_communication {

using doctest::Approx;

namespace {

/// Four equal layers, four workers; softmax regression of 36 parameters.
Job learning_job(const std::string& algorithm, const Json& parameters, std::uint64_t steps, double momentum) {
  Job job = scripted_job(star(4, 1e-6, 1e9), nullptr);
  Layer layer;
  layer.tensors = {9};
  job.workload.layers = {layer, layer, layer, layer};
  add_learner(job, 16);
  job.optimizer.rule = sgd_rule(momentum);
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

std::vector<std::vector<float>> models(const std::string& algorithm, const Json& parameters,
                                       std::uint64_t steps, double momentum = 0.9) {
  return run_fake(learning_job(algorithm, parameters, steps, momentum)).models;
}

double worst_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    REQUIRE(a[rank].size() == b[rank].size());
    for (std::size_t i = 0; i < a[rank].size(); ++i)
      worst = std::max(worst, static_cast<double>(std::fabs(a[rank][i] - b[rank][i])));
  }
  return worst;
}

/// An outer optimizer that takes over the mean of the models.
Json plain(Json more) {
  more["outer_rate"] = 1;
  more["outer_momentum"] = 0;
  return more;
}

constexpr double kRounding = 1e-5;  // parameters are about 1

}  // namespace

TEST_CASE("DiLoCo with outer rate 1 and no outer momentum is local SGD") {
  // 21 steps: after an averaging, and 23: between two.
  for (const std::uint64_t steps : {21U, 23U}) {
    for (const int period : {1, 3, 7}) {
      CAPTURE(steps);
      CAPTURE(period);
      CHECK(worst_difference(models("diloco", plain({{"inner_steps", period}}), steps),
                             models("local_sgd", {{"period", period}}, steps)) < kRounding);
    }
  }
}

TEST_CASE("DiLoCo of one inner step of SGD, with outer rate 1 and no momenta, is Allreduce-SGD") {
  CHECK(worst_difference(models("diloco", plain({{"inner_steps", 1}}), 30, 0),
                         models("allreduce_sgd", Json::object(), 30, 0)) < kRounding);
}

TEST_CASE("streaming DiLoCo of one fragment without overlap is DiLoCo, and of more it is not") {
  const auto plain_models = models("diloco", {{"inner_steps", 4}}, 20);
  CHECK(models("diloco", {{"inner_steps", 4}, {"fragments", 1}, {"overlap", 0}, {"mixing", 0}}, 20) ==
        plain_models);
  CHECK(models("diloco", {{"inner_steps", 4}, {"bits", 32}}, 20) == plain_models);
  const Json others[] = {{{"inner_steps", 4}, {"fragments", 2}},
                         {{"inner_steps", 4}, {"overlap", 1}},
                         {{"inner_steps", 4}, {"mixing", 0.5}},
                         {{"inner_steps", 4}, {"bits", 4}}};
  for (const Json& other : others) {
    CAPTURE(other);
    CHECK(worst_difference(models("diloco", other, 20), plain_models) > 1e-4);
  }
}

TEST_CASE("fragments are averaged at steps of their own: after the step in which one is, only it agrees") {
  // H = 4, F = 4: fragment f goes at steps k with (k + f) mod 4 = 0; at step 6 it is fragment 2, entries 18
  // to
  // 26. The others have trained on since: fragment 3 since step 5, 0 since 4, 1 since 3.
  const auto after = models("diloco", plain({{"inner_steps", 4}, {"fragments", 4}}), 6);
  for (std::size_t i = 0; i < 36; ++i) {
    CAPTURE(i);
    const bool agrees = after[0][i] == after[1][i] && after[0][i] == after[3][i];
    CHECK(agrees == (i >= 18 && i < 27));
  }
}

TEST_CASE("what comes back after an overlap is mixed into what the worker has by then") {
  // Rate 1, no momentum, H = 4, tau = 2: the mean of the models of step 4 comes after step 6, where m = 0.25
  // of the own model stays: x = 0.25 x_6 + 0.75 mean_4. x_6 and mean_4 are those of workers that train alone.
  const Json options = plain({{"inner_steps", 4}, {"overlap", 2}, {"mixing", 0.25}});
  const auto mixed = models("diloco", options, 6);
  const auto at_4 = models("local_sgd", {{"period", 100}}, 4),
             at_6 = models("local_sgd", {{"period", 100}}, 6);
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (std::size_t i = 0; i < 36; ++i) {
      const double mean = (at_4[0][i] + at_4[1][i] + at_4[2][i] + at_4[3][i]) / 4.0;
      CHECK(mixed[rank][i] == Approx(0.25 * at_6[rank][i] + 0.75 * mean).epsilon(1e-5));
    }
}

TEST_CASE("the outer optimizer: two steps by hand") {
  // eta = 0.5, mu = 0.8. D = 2: u = 2, g = 10 - 0.5 (2 + 0.8 * 2) = 8.2. D = -1: u = 0.8 * 2 - 1 = 0.6,
  // g = 8.2 - 0.5 (-1 + 0.8 * 0.6) = 8.46.
  Executor executor(1);
  const auto one = [&](float value) { return executor.constant({{value}, {}, {}}); };
  OuterSettings settings;
  settings.rate = 0.5;
  settings.momentum = 0.8;
  OuterNesterov outer(settings, one(10));
  outer.step(executor, one(2));
  CHECK(executor.get(outer.agreed()).values[0] == Approx(8.2).epsilon(1e-6));
  outer.step(executor, one(-1));
  CHECK(executor.get(outer.agreed()).values[0] == Approx(8.46).epsilon(1e-6));
}

TEST_CASE("DiLoCo takes its steps and what of its all-reduces is not hidden behind them") {
  // 30,846,720 numbers in 8 equal layers, 4 workers, 125 MB/s: a ring takes 2 (3/4) m / 125 MB/s =
  // 1.48064 s of the model, H = 32 steps 24.6 ms each.
  // Plain: 24.6 + 1480.64 / 32 = 70.87 ms. Four fragments take 370.16 ms each; 4 steps of 98.4 ms hide part
  // of it: 24.6 + 4 (370.16 - 98.4) / 32 = 58.57 ms. With 4 bits instead of 32 they take 46.27 ms, which 7
  // steps hide: 24.6 ms. One of the last fragments never comes back, out of 160.
  const auto mean_step_s = [](const Json& parameters) {
    return in_child([&] {
      Job job = scripted_job(star(4, 0, 125e6), nullptr);
      Layer layer;
      layer.tensors = {30'846'720.0 / 8};
      layer.forward_s = 8.2e-3 / 8;
      layer.backward_s = 16.4e-3 / 8;
      job.workload.layers.assign(8, layer);
      use_algorithm(job, "diloco", parameters);
      job.stop.steps = 1280;
      return std::vector<double>{simulate_job(job).end_s / 1280};
    })[0];
  };
  CHECK(mean_step_s({{"inner_steps", 32}}) == Approx(70.87e-3).epsilon(1e-3));
  CHECK(mean_step_s({{"inner_steps", 32}, {"fragments", 4}, {"overlap", 4}}) ==
        Approx(58.57e-3).epsilon(0.01));
  CHECK(mean_step_s({{"inner_steps", 32}, {"fragments", 4}, {"overlap", 7}, {"bits", 4}}) ==
        Approx(24.6e-3).epsilon(1e-3));
}

}  // namespace simsgd::test::algorithms_low_communication
