// DiLoCo: what it is where its outer optimizer does nothing of its own, what its outer optimizer does by
// hand, and how long it takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/buckets.hpp"
#include "algorithms/low_communication/outer_nesterov.hpp"
#include "sim/learn/optimizer.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"

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

TEST_CASE("integers of one block are what DiLoCo's bits are") {
  const auto coded = models(
      "diloco", {{"inner_steps", 4}, {"codec", {{"name", "integer"}, {"bits", 6}, {"block", 4096}}}}, 20);
  CHECK(worst_difference(coded, models("diloco", {{"inner_steps", 4}, {"bits", 6}}, 20)) < kRounding);
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
                         {{"inner_steps", 4}, {"bits", 4}},
                         {{"inner_steps", 4}, {"codec", {{"name", "e3m0"}}}}};
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
    Job job = scripted_job(star(4, 0, 125e6), nullptr);
    give_layers(job, 8, 30'846'720.0 / 8, 8.2e-3 / 8, 16.4e-3 / 8);
    use_algorithm(job, "diloco", parameters);
    job.stop.steps = 1280;
    return simulate_job(job).end_s / 1280;
  };
  CHECK(mean_step_s({{"inner_steps", 32}}) == Approx(70.87e-3).epsilon(1e-3));
  CHECK(mean_step_s({{"inner_steps", 32}, {"fragments", 4}, {"overlap", 4}}) ==
        Approx(58.57e-3).epsilon(0.01));
  CHECK(mean_step_s({{"inner_steps", 32}, {"fragments", 4}, {"overlap", 7}, {"bits", 4}}) ==
        Approx(24.6e-3).epsilon(1e-3));
}

TEST_CASE("rounding takes the device's time at both ends of a slow and a fast node, and fp32 none") {
  // 4e6 numbers, one worker's device at 1 TB/s and half that speed: a difference of them is read (4 bytes)
  // and written (b / 8), every second step. Links cost nothing to speak of, neither does computing.
  const auto run_s = [](const Json& more, double speed, Cost quantise_s) {
    Job job = scripted_job(star(1, 0, 1e12), nullptr, 4e6);
    job.cluster.device.memory_Bps = 1e12;
    job.cluster.device.quantise_s = quantise_s;
    job.cluster.node_speed = {speed};
    Json parameters = {{"inner_steps", 2}};
    parameters.update(more);
    use_algorithm(job, "diloco", parameters);
    job.stop.steps = 10;
    return simulate_job(job).end_s;
  };
  const double exact_s = run_s(Json::object(), 1, {});
  CHECK(exact_s == Approx(5 * 20 * 4e6 / 1e12).epsilon(1e-12));  // the outer steps alone
  CHECK(run_s({{"bits", 32}}, 1, {}) == exact_s);
  CHECK(run_s({{"bits", 4}}, 1, {}) - exact_s == Approx(5 * 4.5 * 4e6 / 1e12).epsilon(1e-9));
  CHECK(run_s({{"bits", 8}}, 0.5, {}) - 2 * exact_s == Approx(2 * 5 * 5 * 4e6 / 1e12).epsilon(1e-9));
  CHECK(run_s({{"bits", 4}}, 1, 1e-10) - exact_s == Approx(5 * 4e-4).epsilon(1e-9));
  CHECK(run_s({{"bits", 32}}, 1, 1e-10) == exact_s);
  CHECK(run_s({{"bits", 8}, {"fragments", 1}, {"overlap", 1}}, 1, {}) > exact_s);
}

TEST_CASE("every fragment has parameters, however large one layer is") {
  // An independent way: of all cuts into so many parts with parameters, those of the rule that a layer
  // belongs to the part in which its middle lies, as far as no part is left empty.
  const auto parameters = [](const std::vector<double>& layers, int count) {
    Workload workload;
    for (const double size : layers) {
      Layer layer;
      if (size > 0) layer.tensors = {size};
      workload.layers.push_back(layer);
    }
    std::vector<double> all;
    double end = 0;
    for (const Bucket& bucket : equal_buckets(workload, count)) {
      CHECK(bucket.begin_share == Approx(end));
      end = bucket.end_share;
      CHECK(bucket.end_share - bucket.begin_share ==
            Approx(bucket.parameters / workload.parameters()).epsilon(1e-9));
      all.push_back(bucket.parameters);
    }
    CHECK(end == Approx(1));
    return all;
  };
  using All = std::vector<double>;
  CHECK(parameters({1, 1, 98}, 3) == All{1, 1, 98});
  CHECK(parameters({98, 1, 1}, 3) == All{98, 1, 1});
  CHECK(parameters({1, 98, 1}, 3) == All{1, 98, 1});
  CHECK(parameters({1, 1, 1, 97}, 2) == All{3, 97});
  CHECK(parameters({97, 1, 1, 1}, 2) == All{97, 3});
  CHECK(parameters({1, 96, 1, 1, 1}, 3) == All{1, 96, 3});
  CHECK(parameters({0, 98, 0, 1, 0, 1, 0}, 3) == All{98, 1, 1});  // layers without parameters are no fragment
  CHECK(parameters({0, 0, 5}, 1) == All{5});
  CHECK(parameters({9, 9, 9, 9}, 4) == All{9, 9, 9, 9});  // as before
  CHECK(parameters({10, 20, 30, 40}, 2) == All{60, 40});
  Stream draws({.seed = 5, .purpose = Purpose::algorithm});
  for (int trial = 0; trial < 300; ++trial) {
    All layers;
    for (std::uint32_t i = 0, n = 1 + draws.below(12); i < n; ++i)
      layers.push_back(draws.below(4) == 0 ? 0 : std::pow(10, draws.below(6)));
    layers.push_back(7);
    const auto some =
        static_cast<int>(std::count_if(layers.begin(), layers.end(), [](double p) { return p > 0; }));
    for (int count = 1; count <= some; ++count) {
      CAPTURE(count);
      double sum = 0;
      for (const double each : parameters(layers, count)) {
        CHECK(each > 0);
        sum += each;
      }
      CHECK(sum == std::accumulate(layers.begin(), layers.end(), 0.0));
    }
  }
}

TEST_CASE("a model with one huge layer learns in fragments as it does otherwise where nothing overlaps") {
  // H = 1: all fragments are averaged after each step, as the whole model is.
  const auto after = [](int fragments) {
    Job job = learning_job("diloco", plain({{"inner_steps", 1}}), 10, 0);
    job.workload.layers[0].tensors = {30};
    job.workload.layers[1].tensors = job.workload.layers[2].tensors = {2};
    job.workload.layers[3].tensors = {2};
    use_algorithm(job, "diloco", plain({{"inner_steps", 1}, {"fragments", fragments}}));
    return run_fake(job).models;
  };
  CHECK(worst_difference(after(4), after(1)) < kRounding);
}

}  // namespace simsgd::test::algorithms_low_communication
