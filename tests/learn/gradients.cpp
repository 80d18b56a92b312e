// Gradients against central differences, in double: (f(x + h) - f(x - h)) / 2h differs from f'(x) by h^2
// f'''/6 and by rounding of about 1e-16 / h; with h = 1e-6 both are below 1e-9, and few kinks of ReLU lie so
// near.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/learn/layers/convolution.hpp"
#include "sim/learn/layers/pooling.hpp"
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

// Convolution's patches and pooling, by hand and by their laws.

TEST_CASE("patches of a 3 x 3 image under a 3 x 3 kernel with padding 1 and stride 2, by hand") {
  // Image 1 2 3 / 4 5 6 / 7 8 9. The four positions are centred at 1, 3, 7 and 9.
  const ConvolutionShape shape{.name = "c",
                               .channels = 1,
                               .height = 3,
                               .width = 3,
                               .filters = 1,
                               .kernel = 3,
                               .stride = 2,
                               .padding = 1};
  REQUIRE(shape.positions() == 4);
  const std::vector<double> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> patches(std::size_t{4} * 9, -1), padded(25);
  image_to_patches(shape, image.data(), patches.data(), padded.data());
  const std::vector<std::vector<double>> by_kernel_entry = {
      {0, 0, 0, 5},  // upper left of each centre: outside, outside, outside, 5
      {0, 0, 4, 6},  // above
      {0, 0, 5, 0},  // upper right
      {0, 2, 0, 8},  // left
      {1, 3, 7, 9},  // centre
      {2, 0, 8, 0},  // right
      {0, 5, 0, 0},  // lower left
      {4, 6, 0, 0},  // below
      {5, 0, 0, 0},  // lower right
  };
  for (std::size_t k = 0; k < 9; ++k)
    for (std::size_t p = 0; p < 4; ++p) {
      CAPTURE(k);
      CAPTURE(p);
      CHECK(patches[k * 4 + p] == by_kernel_entry[k][p]);
    }
}

TEST_CASE("an image of patches is the transpose of taking them: <patches(x), p> = <x, image(p)>") {
  for (const std::int64_t kernel : {1, 2, 3, 5})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t padding : {0, 1, 4}) {
        const ConvolutionShape shape{.name = "c",
                                     .channels = 2,
                                     .height = 5,
                                     .width = 7,
                                     .filters = 1,
                                     .kernel = kernel,
                                     .stride = stride,
                                     .padding = padding};
        CAPTURE(kernel);
        CAPTURE(stride);
        CAPTURE(padding);
        // Small whole numbers, so that the sums are exact.
        std::vector<double> image(std::size_t{2} * 5 * 7),
            patches(static_cast<std::size_t>(shape.positions() * shape.patch()));
        for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i % 11) - 5;
        std::vector<double> weights(patches.size()), padded(static_cast<std::size_t>(shape.padded()));
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 7) - 3;
        image_to_patches(shape, image.data(), patches.data(), padded.data());
        std::vector<double> back(image.size(), -1);
        patches_to_image(shape, weights.data(), back.data(), padded.data());
        CHECK(std::inner_product(patches.begin(), patches.end(), weights.begin(), 0.0) ==
              std::inner_product(image.begin(), image.end(), back.begin(), 0.0));
      }
}

TEST_CASE("max pooling takes the largest of each block and gives it the block's gradient") {
  // 1 5 2 0 9        blocks of 2 x 2: max(1 5 3 4) = 5, max(2 0 2 1) = 2 (the first of two);
  // 3 4 2 1 9        the fifth column is left over and dropped.
  const MaxPool<double> pool(PoolShape{.channels = 1, .height = 2, .width = 5, .window = 2});
  REQUIRE(pool.outputs() == 2);
  const std::vector<double> input = {1, 5, 2, 0, 9, 3, 4, 2, 1, 9};
  std::vector<double> output(2), input_gradient(10, -1);
  pool.forward({.weights = nullptr,
                .input = ConstView<double>(input.data(), 10, 1),
                .output = View<double>(output.data(), 2, 1),
                .scratch = nullptr});
  CHECK(output == std::vector<double>{5, 2});
  const std::vector<double> output_gradient = {10, 20};
  pool.backward({.weights = nullptr,
                 .input = ConstView<double>(input.data(), 10, 1),
                 .output = ConstView<double>(output.data(), 2, 1),
                 .output_gradient = ConstView<double>(output_gradient.data(), 2, 1),
                 .input_gradient = View<double>(input_gradient.data(), 10, 1),
                 .weight_gradient = nullptr,
                 .scratch = nullptr,
                 .tap = nullptr});
  CHECK(input_gradient == std::vector<double>{0, 10, 20, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE(
    "max pooling of blocks of 2 x 2 is that of any block: the first largest wins, and a NaN that comes first") {
  // Blocks of four entries of 0 to 3, with ties, side by side; some have a NaN.
  std::vector<double> input(512), expected(128), expected_gradient(512, 0);
  for (std::size_t b = 0; b < 128; ++b) {
    std::array<double, 4> block{};
    for (std::size_t i = 0; i < 4; ++i) block[i] = static_cast<double>((b * 37 + 11) >> (2 * i) & 3);
    if (b % 16 == 5) block[b / 16 % 4] = std::numeric_limits<double>::quiet_NaN();
    std::size_t best = 0;
    for (std::size_t i = 1; i < 4; ++i)
      if (block[i] > block[best]) best = i;
    const std::array<std::size_t, 4> at = {2 * b, 2 * b + 1, 256 + 2 * b, 256 + 2 * b + 1};
    for (std::size_t i = 0; i < 4; ++i) input[at[i]] = block[i];
    expected[b] = block[best];
    expected_gradient[at[best]] = static_cast<double>(b + 1);
  }
  std::vector<double> output(128), arriving(128), gradient(512, -1);
  std::iota(arriving.begin(), arriving.end(), 1.0);
  const MaxPool<double> pool(PoolShape{.channels = 1, .height = 2, .width = 256, .window = 2});
  pool.forward({.weights = nullptr,
                .input = ConstView<double>(input.data(), 512, 1),
                .output = View<double>(output.data(), 128, 1),
                .scratch = nullptr});
  pool.backward({.weights = nullptr,
                 .input = ConstView<double>(input.data(), 512, 1),
                 .output = ConstView<double>(output.data(), 128, 1),
                 .output_gradient = ConstView<double>(arriving.data(), 128, 1),
                 .input_gradient = View<double>(gradient.data(), 512, 1),
                 .weight_gradient = nullptr,
                 .scratch = nullptr,
                 .tap = nullptr});
  for (std::size_t b = 0; b < 128; ++b)
    CHECK((output[b] == expected[b] || (std::isnan(output[b]) && std::isnan(expected[b]))));
  CHECK(gradient == expected_gradient);
}

TEST_CASE("weights start uniform between plus and minus one over the root of the fan-in") {
  // Fan-in 16: bound 1/4, standard deviation 0.25 / sqrt(3) = 0.1443; of 10,000 draws the mean is within
  // 0.006 (four standard errors of 0.00144).
  Stream stream({1, Purpose::initial_model, 0, 0});
  std::vector<double> weights(10000);
  initialise_uniform<double>(stream, 16, weights);
  CHECK(*std::max_element(weights.begin(), weights.end()) < 0.25);
  CHECK(*std::min_element(weights.begin(), weights.end()) > -0.25);
  CHECK(*std::max_element(weights.begin(), weights.end()) > 0.249);
  CHECK(std::abs(std::accumulate(weights.begin(), weights.end(), 0.0) / 10000) < 0.006);
}

}  // namespace simsgd::test::learn_gradients
