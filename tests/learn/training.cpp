// The parts together: models that learn what they should.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/learn/optimizer.hpp"
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

}  // namespace simsgd::test::learn_training
