// Models whose loss and gradient are worked out by hand.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::learn_models {

using namespace simsgd::testing;

namespace {

void check_equal(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-7));
  }
}

}  // namespace

TEST_CASE("softmax regression: mean cross-entropy of two samples, worked out by hand") {
  // W = I, b = 0.
  // Sample (1, 2), label 0: z = (1, 2), p = (1, e) / (1 + e) = (0.26894142, 0.73105858),
  //   loss = -log 0.26894142 = 1.31326169, dL/dz = p - (1, 0) = (-0.73105858, 0.73105858).
  // Sample (0, 0), label 1: z = (0, 0), p = (1/2, 1/2), loss = log 2 = 0.69314718, dL/dz = (0.5, -0.5).
  // Mean loss 1.00320443. dL/dW = dL/dz x^T / 2: the second sample adds nothing, since its x is 0.
  DataSet data;
  data.count = 2, data.features = 2, data.classes = 2;
  data.floats = {1, 2, 0, 0};
  data.labels = {0, 1};
  const auto model = model_in_double("softmax_regression").make(Json::object(), data);
  const Differentiated found = differentiate(*model, {1, 0, 0, 1, 0, 0}, data);
  CHECK(found.loss == doctest::Approx(1.00320443).epsilon(1e-8));
  check_equal(found.gradient, {-0.36552929, 0.36552929, -0.73105858, 0.73105858,  // W, column by column
                               -0.11552929, 0.11552929});  // b: (-0.73105858 + 0.5) / 2
}

TEST_CASE("linear regression: half the squared distance, worked out by hand") {
  // f = 2 * 3 + 1 = 7, y = 5: loss = (7 - 5)^2 / 2 = 2, dL/dw = (7 - 5) * 3 = 6, dL/db = 2.
  DataSet data;
  data.count = 1, data.features = 1, data.target_size = 1;
  data.floats = {3};
  data.targets = {5};
  const auto model = model_in_double("linear_regression").make(Json::object(), data);
  const Differentiated found = differentiate(*model, {2, 1}, data);
  CHECK(found.loss == doctest::Approx(2.0));
  check_equal(found.gradient, {6, 2});

  const auto without = model_in_double("linear_regression").make(Json{{"bias", false}}, data);
  CHECK(without->parameters() == 1);
}

TEST_CASE("mlp with relu: forward and backward through one hidden layer, worked out by hand") {
  // x = (3, 1). W1 = [1 -1; -2 0], b1 = (0, 1): W1 x + b1 = (2, -5), relu -> h = (2, 0).
  // W2 = [3 4], b2 = 1: f = 3 * 2 + 1 = 7, y = 5, loss = 2, dL/df = 2.
  // dL/dW2 = 2 h = (4, 0), dL/db2 = 2. dL/dh = 2 (3, 4) = (6, 8), relu passes (6, 0).
  // dL/dW1 = (6, 0) x^T = [18 6; 0 0], dL/db1 = (6, 0).
  DataSet data;
  data.count = 1, data.features = 2, data.target_size = 1;
  data.floats = {3, 1};
  data.targets = {5};
  const auto model = model_in_double("mlp").make(Json{{"hidden", {2}}}, data);
  const Differentiated found = differentiate(*model, {1, -2, -1, 0, 0, 1, 3, 4, 1}, data);
  CHECK(found.loss == doctest::Approx(2.0));
  check_equal(found.gradient, {18, 0, 6, 0, 6, 0, 4, 0, 2});
}

TEST_CASE("cnn: one convolution, relu and a linear layer, worked out by hand") {
  // Image 1 2 3 / 4 5 6 / 7 8 9, kernel [1 0; 0 1], bias -9, no padding: the four outputs are
  //   1+5-9 = -3, 2+6-9 = -1, 4+8-9 = 3, 5+9-9 = 5; relu -> h = (0, 0, 3, 5).
  // Linear: class 0 has no weights, class 1 has (0, 0, 1, -1) and bias 2: z = (0, 3 - 5 + 2) = (0, 0).
  // Label 0: loss = log 2, dL/dz = (-1/2, 1/2).
  // Linear layer: dL/dW = (-1/2, 1/2) h^T, dL/db = (-1/2, 1/2); dL/dh = (0, 0, 1/2, -1/2), relu passes all of
  // it. Kernel: 1/2 of the patch 4 5 7 8 minus 1/2 of the patch 5 6 8 9 = -1/2 everywhere; bias: 1/2 - 1/2 =
  // 0.
  const DataSet data = image_set(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 0, 2);
  const Json parameters = {{"channels", {1}}, {"kernel", 2}, {"padding", 0}, {"pool", 1}};
  const auto model = model_in_double("cnn").make(parameters, data);
  const Differentiated found = differentiate(*model, {1, 0, 0, 1, -9, 0, 0, 0, 0, 0, 1, 0, -1, 0, 2}, data);
  CHECK(found.loss == doctest::Approx(std::log(2.0)));
  check_equal(found.gradient, {-0.5, -0.5, -0.5, -0.5, 0,                      // kernel, bias
                               0, 0, 0, 0, -1.5, 1.5, -2.5, 2.5, -0.5, 0.5});  // linear, column by column
}

TEST_CASE("quadratic: loss and gradient of two samples, worked out by hand") {
  // A = diag(1, 0.5), samples (0, 0) and (2, 4), x = (3, 0).
  // Losses: (9 + 0) / 2 = 4.5 and (1 + 0.5 * 16) / 2 = 4.5; mean 4.5.
  // Gradient: A (x - mean b) = (1 * (3 - 1), 0.5 * (0 - 2)) = (2, -1).
  DataSet data;
  data.count = 2, data.features = 2;
  data.floats = {0, 0, 2, 4};
  data.curvature = {1, 0.5};
  const auto model = model_in_double("quadratic").make(Json::object(), data);
  const Differentiated found = differentiate(*model, {3, 0}, data);
  CHECK(found.loss == doctest::Approx(4.5));
  check_equal(found.gradient, {2, -1});
  CHECK(model->score(std::vector<double>{3, 0}, data.batch<double>(all_samples(data))).correct == -1);
}

TEST_CASE("score counts the samples whose largest output is that of their label") {
  // W = I: predictions are the larger feature. (2, 1) -> 0, (1, 2) -> 1, a tie (1, 1) -> the first, 0.
  DataSet data;
  data.count = 3, data.features = 2, data.classes = 2;
  data.floats = {2, 1, 1, 2, 1, 1};
  data.labels = {0, 0, 0};
  const auto model = model_in_double("softmax_regression").make(Json::object(), data);
  const std::vector<double> identity = {1, 0, 0, 1, 0, 0};
  CHECK(model->score(identity, data.batch<double>(all_samples(data))).correct == 2);
}

TEST_CASE("large outputs do not overflow the cross-entropy") {
  // z = (1000, 0), label 1: loss = log(e^1000 + 1) - 0 = 1000 in double.
  DataSet data;
  data.count = 1, data.features = 1, data.classes = 2;
  data.floats = {1000};
  data.labels = {1};
  const auto model = model_in_double("softmax_regression").make(Json::object(), data);
  CHECK(differentiate(*model, {1, 0, 0, 0}, data).loss == doctest::Approx(1000));
}

TEST_CASE("a parameter that is NaN makes the loss NaN, whatever the activation") {
  const DataSet data = random_classes(4, 20, 3, 1);
  for (const char* activation : {"relu", "tanh"}) {
    CAPTURE(activation);
    const auto model = model_plugin("mlp").make(Json{{"hidden", {16}}, {"activation", activation}}, data);
    std::vector<float> parameters(model->parameters(), 0.1f), gradient(model->parameters());
    parameters[0] = std::numeric_limits<float>::quiet_NaN();
    const Batch<float> batch = data.batch<float>(all_samples(data));
    CHECK(std::isnan(model->loss_and_gradient(parameters, batch, gradient, nullptr)));
  }
}

TEST_CASE("layers are slices of the flat vector, one after another, and count their operations") {
  // Defaults on 28 x 28: conv1 8 (1*3*3 + 1) = 80, conv2 16 (8*3*3 + 1) = 1,168, linear 10 (16*7*7 + 1) =
  // 7,850.
  DataSet data = image_set(28, 28, std::vector<float>(784, 0), 0, 10);
  const auto model = model_plugin("cnn").make(Json::object(), data);
  const std::vector<LayerInfo> layers = model->layers();
  REQUIRE(layers.size() == 3);
  CHECK(model->parameters() == 9098);
  CHECK(layers[0].offset == 0);
  CHECK(layers[1].offset == 80);
  CHECK(layers[2].offset == 80 + 1168);
  CHECK(layers[1].kind == LayerInfo::Kind::convolution);
  CHECK(layers[1].positions == 14 * 14);
  CHECK(layers[1].forward_flop == 2.0 * 16 * 72 * 196);
  CHECK(layers[1].activations == 16 * 196);
  CHECK(layers[2].kind == LayerInfo::Kind::linear);
  CHECK(layers[2].columns == 784);
}

TEST_CASE("a cnn says which of its layers an image is too small for") {
  const auto what = [](const std::string& name, const Json& parameters, const DataSet& data) -> std::string {
    return refusal_of<ParameterError>([&] { model_plugin(name).make(parameters, data); });
  };
  const DataSet image = image_set(4, 6, std::vector<float>(24, 0), 0, 2);
  CHECK(
      what("cnn", {{"kernel", 7}, {"padding", 1}}, image) ==
      "/kernel: 7 x 7 does not fit the 4 x 6 image that reaches conv1. Use a smaller kernel, more padding, fewer layers or less pooling");
  CHECK(
      what("cnn", {{"channels", {2, 2, 2}}}, image) ==
      "/pool: 2 x 2 does not fit the 1 x 1 image that leaves conv3. Use a smaller pool, a smaller stride or fewer layers");
}

}  // namespace simsgd::test::learn_models
