// Convolution's patches and pooling, by hand and by their laws.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/learn/layers/convolution.hpp"
#include "sim/learn/layers/pooling.hpp"

namespace simsgd::test::learn_layers {

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

}  // namespace simsgd::test::learn_layers
