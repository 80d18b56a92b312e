// SGD, clipping and learning-rate schedules, by hand.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/device.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/learn/optimizers/registry.hpp"
#include "sim/roles/compute.hpp"

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

// AdamW against a model of its own, in double and element by element.

namespace {

std::shared_ptr<const UpdateRule> adamw(const Json& options = Json::object()) {
  return find_plugin(optimizer_plugins(), "adamw", "optimizer").make(options);
}

/// One parameter, as the paper writes it: with m and v divided by 1 - beta^t.
struct Parameter {
  double w = 0, m = 0, v = 0;

  void step(int t, double rate, double decay, double g) {
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double mean = m / (1 - std::pow(0.9, t)), square = v / (1 - std::pow(0.999, t));
    w = w - rate * decay * w - rate * mean / (std::sqrt(square) + 1e-8);
  }
};

/// A gradient that is another at each step and parameter.
float gradient_at(int step, std::size_t i) {
  return 0.5F * std::cos(1.7F * static_cast<float>(step) + static_cast<float>(i));
}

std::vector<float> gradients_at(int step, std::size_t size) {
  std::vector<float> all;
  for (std::size_t i = 0; i < size; ++i) all.push_back(gradient_at(step, i));
  return all;
}

}  // namespace

TEST_CASE("adamw: the first step by hand is the learning rate along the sign, beside the decay") {
  // m = 0.1 g and v = 0.001 g^2 are corrected to g and g^2: w = (1 - 0.1 * 0.01) * 2 - 0.1 * g / |g| = 1.898.
  Executor executor(1);
  const ReplicaState start{vector_of(executor, {2, 2, 2}), {}};
  const ReplicaState next = adamw()->step(executor, 0.1, start, vector_of(executor, {5, -0.25, 0}));
  const std::vector<float>& w = executor.get(next.parameters).values;
  CHECK(w[0] == doctest::Approx(1.898).epsilon(1e-6));
  CHECK(w[1] == doctest::Approx(2.098).epsilon(1e-6));
  CHECK(w[2] == doctest::Approx(1.998).epsilon(1e-6));  // 0 / epsilon
}

TEST_CASE("adamw: five steps of four parameters, with another rate and gradient in each") {
  Executor executor(1);
  const auto rule = adamw({{"weight_decay", 0.1}});
  std::vector<Parameter> expected = {{1}, {-2}, {0.5}, {0}};
  ReplicaState state{vector_of(executor, {1, -2, 0.5, 0}), {}};
  for (int step = 1; step <= 5; ++step) {
    CAPTURE(step);
    const double rate = 0.1 / step;
    for (std::size_t i = 0; i < 4; ++i)
      expected[i].step(step, rate, 0.1, static_cast<double>(gradient_at(step, i)));
    state = rule->step(executor, rate, state, vector_of(executor, gradients_at(step, 4)));
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK(std::fabs(static_cast<double>(executor.get(state.parameters).values[i]) - expected[i].w) < 1e-6);
      CHECK(std::fabs(static_cast<double>(executor.get(state.state[0]).values[i]) - expected[i].m) < 1e-6);
      CHECK(std::fabs(static_cast<double>(executor.get(state.state[1]).values[i]) - expected[i].v) < 1e-6);
    }
  }
}

TEST_CASE("adamw: decay of matrices alone leaves norms and biases alone, and embeddings not") {
  // An embedding of 2 x 2, a matrix of 1 x 2 with a bias, a norm of 2 gains. Without a gradient what decays
  // is multiplied by 1 - 0.5 * 0.2.
  std::vector<LayerInfo> layers(3);
  layers[0].rows = layers[0].columns = 2;
  layers[1].kind = LayerInfo::Kind::linear;
  layers[1].offset = 4, layers[1].rows = 1, layers[1].columns = 2, layers[1].bias = true;
  layers[2].offset = 7, layers[2].rows = 2, layers[2].columns = 1;
  const auto rule = rule_of_model(adamw({{"weight_decay", 0.2}, {"weight_decay_on", "matrices"}}), layers);
  Executor executor(1);
  const ReplicaState next = rule->step(executor, 0.5, {vector_of(executor, std::vector<float>(9, 10)), {}},
                                       vector_of(executor, std::vector<float>(9, 0)));
  CHECK(executor.get(next.parameters).values == std::vector<float>{9, 9, 9, 9, 9, 9, 10, 10, 10});
}

TEST_CASE("adamw keeps two vectors, and moves 28 bytes per parameter") {
  const OptimizerSpec spec{.learning_rate = {}, .rule = adamw()};
  CHECK(spec.rule->state_names() == std::vector<std::string>{"first_moment", "second_moment"});
  CHECK(spec.state_bytes_per_parameter() == 8);
  CHECK(spec.rule->bytes_per_parameter().read == 16);  // g, w, m, v
  CHECK(spec.rule->bytes_per_parameter().written == 12);
}

TEST_CASE("adamw: equal replicas share what a step makes, and the state given stays as it is") {
  Executor executor(1);
  const ReplicaState start{vector_of(executor, {1, 2}), {}};
  const Tensor gradient = vector_of(executor, {0.5, -1});
  const ReplicaState first = adamw()->step(executor, 0.1, start, gradient);
  const ReplicaState one = adamw()->step(executor, 0.1, first, gradient);
  const ReplicaState other = adamw()->step(executor, 0.1, first, gradient);
  CHECK(one.parameters.id() == other.parameters.id());
  CHECK(one.state[0].id() == other.state[0].id());
  CHECK(one.state[1].id() == other.state[1].id());
  const ReplicaState slower = adamw()->step(executor, 0.05, first, gradient);
  CHECK(slower.parameters.id() != one.parameters.id());
  CHECK(slower.state[0].id() == one.state[0].id());  // moments do not depend on the rate

  const std::vector<float> before = executor.get(one.parameters).values;
  CHECK(executor.get(start.parameters).values == std::vector<float>{1, 2});
  CHECK(executor.get(adamw()->step(executor, 0.1, first, gradient).parameters).values == before);
}

TEST_CASE("every optimizer: steps on two halves, each with its state, give what steps on the whole give") {
  for (const OptimizerPlugin& plugin : optimizer_plugins())
    for (const Json& options : {Json::object(), Json{{"weight_decay", 0.1}}}) {
      CAPTURE(plugin.info.name);
      Executor executor(1);
      const auto rule = plugin.make(options);
      const Tensor start = vector_of(executor, gradients_at(0, 10));
      ReplicaState whole{start, {}};
      ReplicaState halves[] = {{slice(executor, start, 0, 6), {}}, {slice(executor, start, 6, 10), {}}};
      for (int step = 1; step <= 3; ++step) {
        const Tensor gradient = vector_of(executor, gradients_at(step, 10));
        whole = rule->step(executor, 0.1, whole, gradient);
        halves[0] = rule->step(executor, 0.1, halves[0], slice(executor, gradient, 0, 6));
        halves[1] = rule->step(executor, 0.1, halves[1], slice(executor, gradient, 6, 10));
      }
      const Tensor joined = concatenate(executor, {halves[0].parameters, halves[1].parameters});
      CHECK(executor.get(joined).values == executor.get(whole.parameters).values);
      CHECK(whole.state.size() == rule->state_names().size());
    }
}

// What an update takes beyond the step times of a workload.

TEST_CASE("beyond 20 bytes per parameter an update is charged as passes over vectors") {
  // 100 GB/s at 80 %: 80 GB/s; 1e9 parameters.
  Device device;
  device.memory_Bps = 100e9;
  device.vector_pass.efficiency = 0.8;
  OptimizerSpec plain, momentum, adamw;
  momentum.rule = sgd_rule(0.9);
  adamw.rule = make_optimizer({{"name", "adamw"}}).rule;
  CHECK(update_s(device, plain, 1e9) == 0);                     // 12 bytes
  CHECK(update_s(device, momentum, 1e9) == 0);                  // 20
  CHECK(update_s(device, adamw, 1e9) == doctest::Approx(0.1));  // 28: 8 GB
  plain.clip_norm = momentum.clip_norm = adamw.clip_norm = 1;   // 4 bytes more
  CHECK(update_s(device, plain, 1e9) == 0);
  CHECK(update_s(device, momentum, 1e9) == doctest::Approx(0.05));
  CHECK(update_s(device, adamw, 1e9) == doctest::Approx(0.15));
}

TEST_CASE("where the rate of vector passes is unknown an update takes nothing more") {
  OptimizerSpec adamw;
  adamw.rule = make_optimizer({{"name", "adamw"}}).rule;
  Device device;
  CHECK(update_s(device, adamw, 1e9) == 0);
  device.memory_Bps = 100e9;
  CHECK(update_s(device, adamw, 1e9) == 0);  // its efficiency is not known
  device.memory_Bps = 0;
  device.vector_pass.efficiency = 0.8;
  CHECK(update_s(device, adamw, 1e9) == 0);
}

}  // namespace simsgd::test::learn_optimizer
