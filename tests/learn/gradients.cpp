// Gradients against central differences, in double: (f(x + h) - f(x - h)) / 2h differs from f'(x) by h^2
// f'''/6 and by rounding of about 1e-16 / h; with h = 1e-6 both are below 1e-9, and few kinks of ReLU lie so
// near.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"

namespace simsgd::test::learn_gradients {

using namespace simsgd::testing;

namespace {

struct Case {
  std::string model;
  Json parameters;
  DataSet data;
};

DataSet random_targets(std::int64_t features, std::int64_t outputs) {
  return *load("teacher_student",
               {{"features", features}, {"outputs", outputs}, {"samples", 7}, {"test_samples", 0}})
              .train;
}

std::vector<Case> cases() {
  return {
      {"softmax_regression", Json::object(), random_classes(6, 5, 4, 1)},
      {"linear_regression", Json::object(), random_targets(4, 3)},
      {"linear_regression", {{"bias", false}}, random_targets(4, 3)},
      {"mlp", {{"hidden", {7, 5}}, {"activation", "tanh"}}, random_classes(6, 4, 3, 2)},
      {"mlp", {{"hidden", {7, 5}}, {"activation", "relu"}}, random_classes(6, 4, 3, 2)},
      {"mlp", {{"hidden", {6}}}, random_targets(5, 2)},
      {"mlp", {{"hidden", Json::array()}}, random_classes(6, 5, 4, 1)},
      {"cnn", {{"channels", {3, 4}}, {"activation", "tanh"}}, random_images(1, 8, 9, 3)},
      {"cnn", {{"channels", {3, 2}}, {"kernel", 3}, {"stride", 2}, {"pool", 1}}, random_images(2, 7, 8, 3)},
      {"cnn", {{"channels", {2}}, {"kernel", 4}, {"padding", 3}, {"pool", 3}}, random_images(3, 6, 5, 2)},
      {"transformer", {{"layers", 2}, {"heads", 2}, {"width", 6}, {"bias", true}}, random_text(4, 5, 3, 3)},
      {"transformer", {{"layers", 1}, {"heads", 4}, {"width", 4}}, random_text(7, 3, 5, 3)},
      {"resnet", {{"width", 2}}, random_images(1, 4, 3, 3, 2)},
      {"resnet", {{"blocks", 2}, {"width", 2}, {"groups", 1}}, random_images(3, 3, 2, 2, 2)},
      {"quadratic", Json::object(),
       *load("quadratic", {{"dimension", 6}, {"samples", 5}, {"condition", 30}}).train},
  };
}

std::vector<double> random_parameters(std::size_t size) {
  Stream stream({5, Purpose::initial_model, 0, 0});
  std::vector<double> parameters(size);
  for (double& parameter : parameters) parameter = 0.5 * stream.normal();
  return parameters;
}

}  // namespace

TEST_CASE("the gradient of every model is that of its loss") {
  for (const Case& example : cases()) {
    CAPTURE(example.model);
    CAPTURE(example.parameters);
    const auto model = model_in_double(example.model).make(example.parameters, example.data);
    std::vector<double> at = random_parameters(model->parameters());
    const std::vector<double> gradient = differentiate(*model, at, example.data).gradient;
    const Batch<double> batch = example.data.batch<double>(all_samples(example.data));
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double h = 1e-6, before = at[i];
      at[i] = before + h;
      const double above = model->score(at, batch).loss;
      at[i] = before - h;
      const double below = model->score(at, batch).loss;
      at[i] = before;
      CAPTURE(i);
      CHECK(std::abs((above - below) / (2 * h) - gradient[i]) < 1e-8 * (1 + std::abs(gradient[i])));
    }
  }
}

TEST_CASE("every listed model is checked against finite differences") {
  for (const ModelPlugin& plugin : model_plugins()) {
    CAPTURE(plugin.info.name);
    const std::vector<Case> all = cases();
    CHECK(std::any_of(all.begin(), all.end(), [&](const Case& c) { return c.model == plugin.info.name; }));
  }
}

TEST_CASE("score and loss_and_gradient give the same loss") {
  for (const Case& example : cases()) {
    CAPTURE(example.model);
    const auto model = model_in_double(example.model).make(example.parameters, example.data);
    const std::vector<double> at = random_parameters(model->parameters());
    const Batch<double> batch = example.data.batch<double>(all_samples(example.data));
    CHECK(model->score(at, batch).loss ==
          doctest::Approx(differentiate(*model, at, example.data).loss).epsilon(1e-14));
  }
}

TEST_CASE(
    "what K-FAC taps of a layer reproduces the layer's gradient: dL/dW = G A^T, summed over samples and positions") {
  for (const Case& example : cases()) {
    CAPTURE(example.model);
    CAPTURE(example.parameters);
    const auto model = model_in_double(example.model).make(example.parameters, example.data);
    const Differentiated found = differentiate(*model, random_parameters(model->parameters()), example.data);
    std::size_t entry = 0;
    for (const LayerInfo& layer : model->layers()) {
      if (layer.kind == LayerInfo::Kind::other) continue;
      CAPTURE(layer.name);
      REQUIRE(entry < found.tap.layers.size());
      const auto& tap = found.tap.layers[entry++];
      REQUIRE(tap.input.rows() == layer.columns + (layer.bias ? 1 : 0));
      REQUIRE(tap.input.cols() == example.data.count * layer.positions);
      REQUIRE(tap.output_gradient.rows() == layer.rows);
      // Weights and biases are neighbours in the flat vector: together a rows x (columns + 1) matrix.
      const Eigen::Map<const Matrix<double>> gradient(found.gradient.data() + layer.offset, layer.rows,
                                                      tap.input.rows());
      const Matrix<double> product = tap.output_gradient * tap.input.transpose();
      CHECK((product - gradient).norm() < 1e-13 * (1 + gradient.norm()));
      if (layer.bias) CHECK((tap.input.bottomRows(1).array() == 1.0).all());
    }
    CHECK(entry == found.tap.layers.size());
  }
}

TEST_CASE("float and double agree to float's precision") {
  for (const Case& example : cases()) {
    CAPTURE(example.model);
    const Json& parameters = example.parameters;
    const auto wide = model_in_double(example.model).make(parameters, example.data);
    const auto narrow = model_plugin(example.model).make(parameters, example.data);
    const std::vector<double> at = random_parameters(wide->parameters());
    const std::vector<float> at_float(at.begin(), at.end());
    std::vector<float> gradient(at.size());
    const Batch<float> batch = example.data.batch<float>(all_samples(example.data));
    const auto loss = static_cast<double>(narrow->loss_and_gradient(at_float, batch, gradient, nullptr));
    const Differentiated expected = differentiate(*wide, at, example.data);
    CHECK(loss == doctest::Approx(expected.loss).epsilon(1e-5));
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      difference += std::pow(static_cast<double>(gradient[i]) - expected.gradient[i], 2);
      norm += std::pow(expected.gradient[i], 2);
    }
    CHECK(std::sqrt(difference) < 1e-5 * std::sqrt(norm));
  }
}

}  // namespace simsgd::test::learn_gradients
