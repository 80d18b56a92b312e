// SGD, clipping and learning-rate schedules, by hand.
#include "sim/learn/optimizer.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace simsgd::test::learn_optimizer {

namespace {

Tensor vector_of(Executor& executor, std::vector<float> values) {
  TensorData tensor;
  tensor.values = std::move(values);
  return executor.constant(std::move(tensor));
}

// The parameter after each of two steps from w = 1 with the constant gradient 1 at eta = 0.1.
std::vector<double> two_steps(const std::shared_ptr<const UpdateRule>& rule) {
  Executor executor(1);
  const Tensor gradient = vector_of(executor, {1});
  ReplicaState state{vector_of(executor, {1}), {}};
  std::vector<double> after;
  for (int step = 0; step < 2; ++step) {
    state = rule->step(executor, 0.1, state, gradient);
    after.push_back(static_cast<double>(executor.get(state.parameters).values[0]));
  }
  return after;
}

}  // namespace

TEST_CASE("plain SGD with weight decay: w <- w - eta (g + decay w)") {
  // 1 - 0.1 (1 + 0.1 * 1) = 0.89; 0.89 - 0.1 (1 + 0.089) = 0.7811.
  const std::vector<double> w = two_steps(sgd_rule(0, false, 0.1));
  CHECK(w[0] == doctest::Approx(0.89).epsilon(1e-6));
  CHECK(w[1] == doctest::Approx(0.7811).epsilon(1e-6));
}

TEST_CASE("momentum: u <- m u + g, w <- w - eta u") {
  // Decay 0.1, m = 0.5. Step 1: u = 1.1, w = 1 - 0.11 = 0.89.
  // Step 2: g = 1 + 0.089 = 1.089, u = 0.55 + 1.089 = 1.639, w = 0.89 - 0.1639 = 0.7261.
  const std::vector<double> w = two_steps(sgd_rule(0.5, false, 0.1));
  CHECK(w[0] == doctest::Approx(0.89).epsilon(1e-6));
  CHECK(w[1] == doctest::Approx(0.7261).epsilon(1e-6));
}

TEST_CASE("Nesterov's momentum: w <- w - eta (g + m u)") {
  // Step 1: u = g = 1.1, w = 1 - 0.1 (1.1 + 0.55) = 0.835.
  // Step 2: g = 1 + 0.0835 = 1.0835, u = 0.55 + 1.0835 = 1.6335, w = 0.835 - 0.1 (1.0835 + 0.81675) =
  // 0.644975.
  const std::vector<double> w = two_steps(sgd_rule(0.5, true, 0.1));
  CHECK(w[0] == doctest::Approx(0.835).epsilon(1e-6));
  CHECK(w[1] == doctest::Approx(0.644975).epsilon(1e-6));
}

TEST_CASE("equal replicas share the result of a step; the states given stay as they are") {
  Executor executor(1);
  const Tensor gradient = vector_of(executor, {1, 2});
  const ReplicaState start{vector_of(executor, {0, 0}), {}};
  for (const bool nesterov : {false, true})
    for (const double momentum : {0.0, 0.9}) {
      CAPTURE(nesterov);
      CAPTURE(momentum);
      // Two rules that say the same, as two workers might have.
      const ReplicaState one = sgd_rule(momentum, nesterov)->step(executor, 0.5, start, gradient);
      const ReplicaState other = sgd_rule(momentum, nesterov)->step(executor, 0.5, start, gradient);
      const ReplicaState faster = sgd_rule(momentum, nesterov)->step(executor, 1.0, start, gradient);
      CHECK(one.parameters.id() == other.parameters.id());
      CHECK(one.parameters.id() != faster.parameters.id());
      REQUIRE(one.state.size() == (momentum > 0 ? 1 : 0));
      if (momentum > 0) {
        CHECK(one.state[0].id() == other.state[0].id());
        CHECK(one.state[0].id() == faster.state[0].id());  // the velocity does not depend on eta
      }
      CHECK(executor.get(start.parameters).values == std::vector<float>{0, 0});
      const float expected = momentum > 0 && nesterov ? -0.95f : -0.5f;  // 0.5 (1 + 0.9) and 0.5 * 1
      CHECK(executor.get(one.parameters).values[0] == doctest::Approx(expected));
    }
}

TEST_CASE("an empty handle before the first step is not a state yet") {
  Executor executor(1);
  const Tensor start = vector_of(executor, {1}), gradient = vector_of(executor, {2});
  const auto rule = sgd_rule(0.9);
  CHECK(rule->step(executor, 0.5, {start, {Tensor()}}, gradient).parameters.id() ==
        rule->step(executor, 0.5, {start, {}}, gradient).parameters.id());
}

TEST_CASE("a step without a learner is empty") {
  Executor executor(1);
  OptimizerSpec spec;
  spec.clip_norm = 1;
  const ReplicaState next = spec.step(executor, 1, {}, {});
  CHECK(!next.parameters);
  CHECK(next.state.empty());
  CHECK(!clipped(executor, {}, 1));
}

TEST_CASE("what SGD keeps and moves: with momentum one vector and 20 bytes, without none and 12") {
  OptimizerSpec spec;
  CHECK(spec.rule->state_names().empty());
  CHECK(spec.state_bytes_per_parameter() == 0);
  CHECK(spec.rule->bytes_per_parameter().read == 8);  // g, w
  CHECK(spec.rule->bytes_per_parameter().written == 4);
  spec.rule = sgd_rule(0.9, true);
  CHECK(spec.rule->state_names() == std::vector<std::string>{"momentum"});
  CHECK(spec.state_bytes_per_parameter() == 4);
  CHECK(spec.rule->bytes_per_parameter().read == 12);  // g, w, u
  CHECK(spec.rule->bytes_per_parameter().written == 8);
}

TEST_CASE("a gradient longer than clip_norm becomes that long; a shorter one stays as it is") {
  Executor executor(1);
  TensorData tensor{{3, -4}, {}, {0.25}};  // of length 5
  const Tensor gradient = executor.constant(tensor);
  const Tensor handle = clipped(executor, gradient, 2.5);
  const TensorData& half = executor.get(handle);
  CHECK(half.values == std::vector<float>{1.5, -2});
  CHECK(half.scalars == std::vector<double>{0.25});  // the loss
  CHECK(executor.get(clipped(executor, gradient, 5)).values == tensor.values);
  CHECK(executor.get(clipped(executor, gradient, 6)).values == tensor.values);
  CHECK(clipped(executor, gradient, 2.5).id() == handle.id());

  // At rate 0.5 from step 2 on: w = 1 - 0.5 * 1.5 and 1 + 0.5 * 2.
  OptimizerSpec spec;
  spec.learning_rate.base = 0.5;
  spec.learning_rate.warmup_steps = 1;
  spec.clip_norm = 2.5;
  const ReplicaState start{vector_of(executor, {1, 1}), {}};
  CHECK(executor.get(spec.step(executor, 2, start, gradient).parameters).values ==
        std::vector<float>{0.25, 2});
  CHECK(executor.get(spec.step(executor, 1, start, gradient).parameters).values == std::vector<float>{1, 1});
  spec.clip_norm = 0;  // no clipping
  CHECK(executor.get(spec.step(executor, 2, start, gradient).parameters).values ==
        std::vector<float>{-0.5, 3});
}

TEST_CASE("warm-up rises linearly from its fraction at step 1 to the whole rate after its last step") {
  LearningRate rate;
  rate.base = 0.4;
  rate.warmup_steps = 4;
  rate.warmup_from = 0.25;
  CHECK(rate.at(1) == doctest::Approx(0.1));    // 0.4 * 0.25
  CHECK(rate.at(2) == doctest::Approx(0.175));  // 0.4 * (0.25 + 0.75 / 4)
  CHECK(rate.at(3) == doctest::Approx(0.25));
  CHECK(rate.at(4) == doctest::Approx(0.325));
  CHECK(rate.at(5) == 0.4);
  CHECK(rate.at(1000) == 0.4);
}

TEST_CASE("the step schedule multiplies by gamma from each milestone on") {
  LearningRate rate;
  rate.base = 1;
  rate.kind = LearningRate::Kind::step;
  rate.milestones = {10, 20};
  rate.gamma = 0.1;
  CHECK(rate.at(9) == 1);
  CHECK(rate.at(10) == doctest::Approx(0.1));
  CHECK(rate.at(19) == doctest::Approx(0.1));
  CHECK(rate.at(20) == doctest::Approx(0.01));
}

TEST_CASE("the cosine schedule falls from 1 after the warm-up to its floor at the last step, and stays") {
  LearningRate rate;
  rate.base = 1;
  rate.kind = LearningRate::Kind::cosine;
  rate.total_steps = 9;
  CHECK(rate.at(1) == 1);
  CHECK(rate.at(3) == doctest::Approx(0.8535533906));  // (1 + cos(pi / 4)) / 2
  CHECK(rate.at(5) == doctest::Approx(0.5));
  CHECK(rate.at(9) == 0);
  CHECK(rate.at(10) == 0);

  rate.floor = 0.2;
  CHECK(rate.at(5) == doctest::Approx(0.6));  // 0.2 + 0.8 / 2
  CHECK(rate.at(99) == 0.2);

  rate.warmup_steps = 4;  // the cosine runs from step 5 to step 9: half way at step 7
  CHECK(rate.at(3) == doctest::Approx(0.5));
  CHECK(rate.at(5) == 1);
  CHECK(rate.at(7) == doctest::Approx(0.6));
  CHECK(rate.at(9) == doctest::Approx(0.2));
}

}  // namespace simsgd::test::learn_optimizer
