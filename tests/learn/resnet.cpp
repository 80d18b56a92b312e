// The residual network: against PyTorch where it is, its layers by hand, its size, and that it learns. Its
// gradient against finite differences: gradients.cpp.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sim/learn/layers/norm.hpp"
#include "sim/learn/layers/pooling.hpp"
#include "sim/learn/layers/shortcut.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::learn_resnet {

using namespace simsgd::testing;
using doctest::Approx;

namespace {

Json torch_case(const Json& options, const std::vector<double>& parameters, const DataSet& data) {
  Json images = Json::array();
  auto pixel = data.floats.begin();
  for (std::int64_t s = 0; s < data.count; ++s) {
    Json image = Json::array();
    for (int c = 0; c < data.channels; ++c) {
      Json plane = Json::array();
      for (int y = 0; y < data.height; ++y, pixel += data.width)
        plane.push_back(std::vector<float>(pixel, pixel + data.width));
      image.push_back(plane);
    }
    images.push_back(image);
  }
  Json shape = options;
  shape["classes"] = data.classes;
  return {{"shape", shape}, {"parameters", parameters}, {"images", images}, {"labels", data.labels}};
}

std::unique_ptr<Model<double>> resnet(const Json& options, const DataSet& data) {
  return model_in_double("resnet").make(options, data);
}

std::string refusal(const Json& options, const DataSet& data) {
  return refusal_of<ParameterError>([&] { resnet(options, data); });
}

/// Stripes along rows (class 0) or columns (class 1), of a random phase and sign, with noise: no linear
/// classifier tells them apart, since every pixel has mean 0 in both classes.
DataSet stripes(std::int64_t count, std::uint64_t seed) {
  constexpr int kSide = 8;
  Stream stream({seed, Purpose::data_set, 79, 0});
  DataSet data = image_set(kSide, kSide, {}, 0, 2);
  data.count = count;
  data.labels.clear();
  for (std::int64_t s = 0; s < count; ++s) {
    const auto label = static_cast<int>(stream.below(2)), phase = static_cast<int>(stream.below(4));
    data.labels.push_back(label);
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x)
        data.floats.push_back(
            static_cast<float>((((label == 0 ? y : x) + phase) % 4 < 2 ? 1 : -1) + 0.5 * stream.normal()));
  }
  return data;
}

}  // namespace

TEST_CASE("loss and gradient of a residual network are PyTorch's") {
  if (!torch_is_there()) {
    MESSAGE("SKIPPED: no python3-torch");
    return;
  }
  const std::pair<Json, DataSet> cases[] = {
      {{{"blocks", 1}, {"width", 4}, {"groups", 2}}, random_images(3, 8, 8, 4)},
      {{{"blocks", 3}, {"width", 2}, {"groups", 1}}, random_images(1, 7, 5, 3)},
      {{{"blocks", 2}, {"width", 6}, {"groups", 6}}, random_images(2, 9, 4, 2)}};
  Json asked = Json::array();
  std::vector<Differentiated> ours;
  for (const auto& [options, data] : cases) {
    const auto model = resnet(options, data);
    const std::vector<double> at = random_point(model->parameters(), 3);
    asked.push_back(torch_case(options, at, data));
    ours.push_back(differentiate(*model, at, data));
  }
  const std::vector<Differentiated> torch = by_torch("resnet", asked);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    CAPTURE(i);
    CHECK(ours[i].loss == Approx(torch.at(i).loss).epsilon(1e-12));
    CHECK(worst_difference(ours[i].gradient, torch[i].gradient) < 1e-11);
  }
}

TEST_CASE("a group norm, by hand") {
  // Channels (1, 3) and (5, 7) in one group: mean 4, variance 5; gains 2 and 10, offsets 0 and 1.
  const Norm<double> together(NormShape{.name = "n", .channels = 2, .positions = 2});
  const std::vector<double> weights = {2, 10, 0, 1}, input = {1, 3, 5, 7};
  std::vector<double> output(4);
  const auto run = [&](const Norm<double>& norm) {
    norm.forward({.weights = weights.data(),
                  .input = ConstView<double>(input.data(), 4, 1),
                  .output = View<double>(output.data(), 4, 1),
                  .scratch = nullptr});
  };
  run(together);
  const double r = 1 / std::sqrt(5 + 1e-5);
  CHECK(worst_difference(output, std::vector<double>{2 * -3 * r, 2 * -1 * r, 10 * r + 1, 10 * 3 * r + 1}) <
        1e-14);
  // Each in a group of its own: mean 2 and 6, variance 1.
  run(Norm<double>(NormShape{.name = "n", .channels = 2, .positions = 2, .groups = 2}));
  const double q = 1 / std::sqrt(1 + 1e-5);
  CHECK(worst_difference(output, std::vector<double>{-2 * q, 2 * q, -10 * q + 1, 10 * q + 1}) < 1e-14);
}

TEST_CASE("a shortcut takes every second pixel and adds nothing to new channels; back it is the transpose") {
  // 1 2 3 / 4 5 6 / 7 8 9 with stride 2: 1 3 / 7 9, and a second channel.
  const Shortcut way{.channels = 1, .height = 3, .width = 3, .out_channels = 2, .stride = 2};
  REQUIRE(way.outputs() == 8);
  const std::vector<double> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> sum = {10, 20, 30, 40, 50, 60, 70, 80}, back(9, 1);
  way.add(ConstView<double>(image.data(), 9, 1), View<double>(sum.data(), 8, 1));
  CHECK(sum == std::vector<double>{11, 23, 37, 49, 50, 60, 70, 80});
  way.add_back(ConstView<double>(sum.data(), 8, 1), View<double>(back.data(), 9, 1));
  CHECK(back == std::vector<double>{12, 1, 24, 1, 1, 1, 38, 1, 50});
}

TEST_CASE("a mean pool gives every channel's mean, and every pixel its share of the gradient") {
  const MeanPool<double> pool(2, 4);
  const std::vector<double> input = {1, 2, 3, 6, 0, 0, 4, 0}, arriving = {4, 8};
  std::vector<double> output(2), back(8);
  pool.forward({.weights = nullptr,
                .input = ConstView<double>(input.data(), 8, 1),
                .output = View<double>(output.data(), 2, 1),
                .scratch = nullptr});
  CHECK(output == std::vector<double>{3, 1});
  pool.backward({.weights = nullptr,
                 .input = ConstView<double>(input.data(), 8, 1),
                 .output = ConstView<double>(output.data(), 2, 1),
                 .output_gradient = ConstView<double>(arriving.data(), 2, 1),
                 .input_gradient = View<double>(back.data(), 8, 1),
                 .weight_gradient = nullptr,
                 .scratch = nullptr,
                 .tap = nullptr});
  CHECK(back == std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2});
}

TEST_CASE("parameters, layers and FLOPs of ResNet-8 and ResNet-20 on CIFAR-10, by hand") {
  DataSet data;
  data.name = "cifar10";
  data.features = 3072, data.height = data.width = 32, data.channels = 3, data.classes = 10;
  // Convolutions 9 (3 16 + 2 16^2 + 16 32 + 32^2 + 32 64 + 64^2), norms 2 (3 16 + 2 32 + 2 64), linear 650.
  const auto eight = model_plugin("resnet").make(Json::object(), data);
  CHECK(eight->parameters() == 9 * (48 + 512 + 512 + 1024 + 2048 + 4096) + 480 + 650);
  CHECK(eight->parameters() == 75290);
  std::size_t offset = 0;
  double flop = 0;
  int convolutions = 0;
  for (const LayerInfo& layer : eight->layers()) {
    CAPTURE(layer.name);
    CHECK(layer.offset == offset);
    offset += layer.size();
    if (layer.kind == LayerInfo::Kind::convolution) flop += layer.forward_flop, ++convolutions;
    CHECK(layer.bias == (layer.kind != LayerInfo::Kind::convolution));
  }
  CHECK(offset == eight->parameters());
  CHECK(convolutions == 7);
  CHECK(flop == 2.0 * 9 * (1024 * (48 + 512) + 256 * (512 + 1024) + 64 * (2048 + 4096)));
  // Table 6 of He et al.: 0.27 million with 20 layers, 0.85 with 56 (theirs have batch norms, of this size).
  CHECK(resnet({{"blocks", 3}}, data)->parameters() == 269722);
  CHECK(resnet({{"blocks", 9}}, data)->parameters() == Approx(0.85e6).epsilon(0.01));
}

TEST_CASE("convolutions start with He's deviation, gains at 1 and offsets at 0") {
  const DataSet data = random_images(3, 4, 4, 2);
  const auto model = resnet({{"width", 32}}, data);
  std::vector<double> at(model->parameters());
  model->initialise(Stream({1, Purpose::initial_model, 0, 0}), at);
  for (const LayerInfo& layer : model->layers()) {
    CAPTURE(layer.name);
    const double* begin = at.data() + layer.offset;
    if (layer.kind == LayerInfo::Kind::other) {
      CHECK(std::vector<double>(begin, begin + layer.rows) ==
            std::vector<double>(static_cast<std::size_t>(layer.rows), 1));
      CHECK(begin[layer.rows] == 0);
    }
    if (layer.kind != LayerInfo::Kind::convolution) continue;
    const double squares = std::inner_product(begin, begin + layer.size(), begin, 0.0);
    // Of n draws the variance is known to sqrt(2 / n); five times that.
    const auto n = static_cast<double>(layer.size());
    CHECK(std::abs(squares / n * static_cast<double>(layer.columns) / 2 - 1) < 5 * std::sqrt(2 / n));
  }
}

TEST_CASE("a residual network learns what no linear classifier can") {
  for (const char* name : {"softmax_regression", "resnet"}) {
    CAPTURE(name);
    LearnerSpec spec;
    const DataSet train = stripes(400, 1);
    const bool resnet = std::string(name) == "resnet";
    spec.model = model_plugin(name).make(resnet ? Json{{"width", 4}} : Json::object(), train);
    spec.train = std::make_shared<const DataSet>(train);
    spec.test = std::make_shared<const DataSet>(stripes(400, 2));
    spec.batch = 16;
    const Learner learner(std::move(spec));
    std::vector<float> at = learner.initial_parameters(), gradient(at.size());
    for (std::uint64_t step = 1; step <= 60; ++step) {
      learner.gradient(at, learner.samples(0, step), gradient);
      for (std::size_t i = 0; i < at.size(); ++i) at[i] -= 0.1F * gradient[i];
    }
    const double accuracy = learner.evaluate_test(at).accuracy;
    if (resnet)
      CHECK(accuracy > 0.97);
    else
      CHECK(accuracy < 0.65);
  }
}

TEST_CASE("what a residual network cannot be made of is told with the remedy") {
  CHECK(
      refusal(Json::object(), random_classes(4, 3, 2, 1)) ==
      "/name: resnet classifies images, but the data set \"random\" has none. Use mlp, or a data set of images such as fashion_mnist");
  CHECK(
      refusal(Json::object(), random_text(5, 4, 3, 1)) ==
      "/name: resnet takes numbers, but the samples of \"text\" are tokens. Use the model transformer, or another data set");
  CHECK(refusal({{"width", 6}, {"groups", 4}}, random_images(1, 4, 4, 2)) ==
        "/groups: do not divide the width of 6. Use a divisor of the width");
}

}  // namespace simsgd::test::learn_resnet
