// The parts together: models that learn what they should.
#include <doctest/doctest.h>

#include <Eigen/Core>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>

#include "sim/learn/model.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/learn/precision.hpp"
#include "tests/learn/support.hpp"

namespace simsgd::test::learn_training {

using namespace simsgd::testing;

namespace {

struct Training {
  std::string model;
  Json parameters = Json::object();
  DataSets data;
  OptimizerSpec optimizer;
  int batch = 32;
  std::uint64_t steps = 300;
};

Learner learner_of(const Training& training) {
  LearnerSpec spec;
  spec.model = model_plugin(training.model).make(training.parameters, *training.data.train);
  spec.train = training.data.train;
  spec.test = training.data.test;
  spec.batch = training.batch;
  return Learner(std::move(spec));
}

std::vector<float> train(const Training& training, const Learner& learner) {
  Executor executor(1);
  TensorData start;
  start.values = learner.initial_parameters();
  ReplicaState state{executor.constant(std::move(start)), {}};
  for (std::uint64_t step = 1; step <= training.steps; ++step) {
    const Tensor gradient = executor.submit({state.parameters}, [&learner, step](TensorData& out, auto in) {
      out.values.resize(learner.parameters());
      out.scalars = {learner.gradient(in[0]->values, learner.samples(0, step), out.values)};
    });
    state = training.optimizer.step(executor, step, state, gradient);
    executor.get(state.parameters);
  }
  return executor.get(state.parameters).values;
}

OptimizerSpec sgd(double rate, double momentum = 0) {
  OptimizerSpec spec;
  spec.learning_rate.base = rate;
  spec.rule = sgd_rule(momentum);
  return spec;
}

}  // namespace

TEST_CASE("gradient descent reaches the known optimum of a quadratic") {
  // Full batch, so without noise: the slowest direction has curvature 1/10 and shrinks by 0.9 each step;
  // 0.9^200 = 7e-10, its square is beyond float.
  Training training{.model = "quadratic",
                    .data = load("quadratic", {{"dimension", 20}, {"condition", 10}, {"samples", 64}}),
                    .optimizer = sgd(1.0),
                    .batch = 64,
                    .steps = 200};
  const Learner learner = learner_of(training);
  const std::vector<float> found = train(training, learner);
  for (const float coordinate : found) CHECK(coordinate == doctest::Approx(1.0).epsilon(1e-5));
  CHECK(learner.evaluate_train(found).loss == doctest::Approx(training.data.train->optimum).epsilon(1e-5));
}

TEST_CASE("a student comes as near to its teacher as the noise allows") {
  // The least expected loss is 1/2 * 0.5^2 = 0.125. With 20,000 samples and 21 parameters least squares
  // exceeds it by 21 / 20,000; SGD at rate 0.01 by about rate * 20 / 4 = 5 per cent; the test set of 5,000
  // knows it to 2 per cent.
  Training training{
      .model = "linear_regression",
      .data = load("teacher_student", {{"noise", 0.5}, {"samples", 20000}, {"test_samples", 5000}}),
      .optimizer = sgd(0.01),
      .batch = 16,
      .steps = 2000};
  CHECK(training.data.train->optimum == doctest::Approx(0.125));
  const Learner learner = learner_of(training);
  const double before = learner.evaluate_test(learner.initial_parameters()).loss;
  const double after = learner.evaluate_test(train(training, learner)).loss;
  CHECK(before > 0.4);  // the teacher's own variance is about 1, half of it is 0.5
  CHECK(after > 0.125 * 0.94);
  CHECK(after < 0.125 * 1.12);
}

TEST_CASE("an mlp learns to tell Gaussian clouds apart") {
  Training training{.model = "mlp",
                    .parameters = {{"hidden", {32}}, {"activation", "tanh"}},
                    .data = load("gaussian_mixture", {{"separation", 4}}),
                    .optimizer = sgd(0.1, 0.9)};
  const Learner learner = learner_of(training);
  CHECK(learner.evaluate_test(learner.initial_parameters()).accuracy < 0.3);
  CHECK(learner.evaluate_test(train(training, learner)).accuracy > 0.9);
}

TEST_CASE("a few hundred steps on Fashion-MNIST tell most clothes apart") {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")) {
    MESSAGE("SKIPPED: install the Debian package dataset-fashion-mnist to run this test");
    return;
  }
  const DataSets data = load("fashion_mnist", {{"train_samples", 6000}, {"test_samples", 1000}});
  for (const char* model : {"softmax_regression", "mlp", "cnn"}) {  // chance is 0.1
    CAPTURE(model);
    Training training{.model = model, .data = data, .optimizer = sgd(0.02, 0.9)};
    const Learner learner = learner_of(training);
    CHECK(learner.evaluate_test(learner.initial_parameters()).accuracy < 0.3);
    CHECK(learner.evaluate_test(train(training, learner)).accuracy > 0.7);
  }
}

// Rounding to 16-bit formats: examples by hand, and agreement with Eigen's types.

namespace {

std::vector<float> rounded(Tensor (*round)(Executor&, const Tensor&), std::vector<float> values) {
  Executor executor(1);
  TensorData tensor;
  tensor.values = std::move(values);
  return executor.get(round(executor, executor.constant(std::move(tensor)))).values;
}

// Every 4,099th bit pattern: all exponents, both signs, subnormals, infinities and NaN, 1.05 million numbers.
std::vector<float> bit_patterns() {
  std::vector<float> patterns;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099)
    patterns.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return patterns;
}

std::size_t disagreements(const std::vector<float>& from, const std::vector<float>& found,
                          float (*expected)(float)) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float right = expected(from[i]);
    const bool same = std::isnan(right)
                          ? std::isnan(found[i])
                          : std::bit_cast<std::uint32_t>(right) == std::bit_cast<std::uint32_t>(found[i]);
    different += same ? 0 : 1;
  }
  return different;
}

}  // namespace

TEST_CASE("fp16 keeps 11 significant bits, ties to even, and becomes infinite from 65,520 on") {
  // The spacing of fp16 in [1, 2) is 2^-10: 1 + 2^-11 is half way between 1 (even) and 1 + 2^-10, 1 + 3 *
  // 2^-11 half way between 1 + 2^-10 and 1 + 2^-9 (even). Spacing in [2048, 4096) is 2. The least subnormal
  // is 2^-24.
  const std::vector<float> from = {1.0f,     1 + 0x1p-11f, 1 + 0x1.8p-10f, 2049.0f,  2051.0f,   65519.0f,
                                   65520.0f, -1e30f,       0x1p-24f,       0x1p-25f, 0x1.8p-25f};
  const std::vector<float> expected = {1.0f,
                                       1.0f,
                                       1 + 0x1p-9f,
                                       2048.0f,
                                       2052.0f,
                                       65504.0f,
                                       std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity(),
                                       0x1p-24f,
                                       0.0f,
                                       0x1p-24f};
  CHECK(rounded(rounded_to_fp16, from) == expected);
}

TEST_CASE("bf16 keeps 8 significant bits and the range of float32") {
  // The spacing of bf16 in [1, 2) is 2^-7; 1 + 2^-8 is half way to the odd neighbour, 1 + 3 * 2^-8 to the
  // even one.
  const std::vector<float> from = {1.0f, 1 + 0x1p-8f, 1 + 0x1.8p-7f, 257.0f, 259.0f, 1e30f};
  const std::vector<float> expected = {1.0f,   1.0f,   1 + 0x1p-6f,
                                       256.0f, 260.0f, static_cast<float>(Eigen::bfloat16(1e30f))};
  const std::vector<float> found = rounded(rounded_to_bf16, from);
  CHECK(found == expected);
  CHECK(std::abs(found.back() / 1e30f - 1) < 0x1p-8f);
}

TEST_CASE("both roundings agree with Eigen's types on numbers of every exponent") {
  const std::vector<float> from = bit_patterns();
  CHECK(disagreements(from, rounded(rounded_to_fp16, from),
                      [](float x) { return static_cast<float>(Eigen::half(x)); }) == 0);
  CHECK(disagreements(from, rounded(rounded_to_bf16, from),
                      [](float x) { return static_cast<float>(Eigen::bfloat16(x)); }) == 0);
}

TEST_CASE("a sparse vector keeps its indices and scalars; an empty handle stays empty; equal inputs share") {
  Executor executor(1);
  TensorData sparse;
  sparse.values = {1 + 0x1p-20f};
  sparse.indices = {42};
  sparse.scalars = {0.125};
  const Tensor values = executor.constant(sparse);
  const Tensor narrow = rounded_to_fp16(executor, values);
  const TensorData& found = executor.get(narrow);
  CHECK(found.values == std::vector<float>{1.0f});
  CHECK(found.indices == std::vector<std::int32_t>{42});
  CHECK(found.scalars == std::vector<double>{0.125});
  CHECK(!rounded_to_bf16(executor, {}));
  const Tensor one = rounded_to_bf16(executor, values), other = rounded_to_bf16(executor, values);
  CHECK(one.id() == other.id());
}

}  // namespace simsgd::test::learn_training
