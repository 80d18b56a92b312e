// AdamW against a model of its own, in double and element by element.
#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/learn/optimizers/registry.hpp"

namespace simsgd::test::learn_adamw {

namespace {

std::shared_ptr<const UpdateRule> adamw(const Json& options = Json::object()) {
  return find_plugin(optimizer_plugins(), "adamw", "optimizer").make(options);
}

Tensor vector_of(Executor& executor, const std::vector<float>& values) {
  return executor.constant({values, {}, {}});
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

}  // namespace simsgd::test::learn_adamw
