// Kronecker factors against Fisher matrices that are computed without them. For a layer with gradients v_n of
// sample n's loss, the Fisher matrix of the mini-batch is F = 1/B sum_n v_n v_n'. It equals the Kronecker
// product of A and G where the inputs are the same for all samples: then v_n = a (x) g_n.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/learn/model.hpp"
#include "tests/algorithms/kfac_support.hpp"

namespace simsgd::test::algorithms_kfac_factors {

using simsgd::testing::differentiate;
using simsgd::testing::Differentiated;

namespace {

using Dense = Matrix<double>;

// `count` samples with the same features and labels 0, 1, 2, 0, ...
DataSet equal_inputs(int count, int features) {
  DataSet data = testing::random_classes(1, features, 3, 4);
  const std::vector<float> one = data.floats;
  data.labels = {0};
  for (int n = 1; n < count; ++n) {
    data.floats.insert(data.floats.end(), one.begin(), one.end());
    data.labels.push_back(n % 3);
  }
  data.count = count;
  return data;
}

std::vector<double> some_parameters(std::size_t size) {
  Stream stream({5, Purpose::initial_model, 0, 0});
  std::vector<double> parameters(size);
  for (double& parameter : parameters) parameter = 0.5 * stream.normal();
  return parameters;
}

// The gradient of one sample's loss, by central differences: right to about 1e-9.
std::vector<double> differences(const Model<double>& model, std::vector<double> at, const DataSet& data,
                                std::int32_t sample) {
  const std::vector<std::int32_t> samples = {sample};
  const Batch<double> batch = data.batch<double>(samples);
  std::vector<double> gradient;
  for (double& parameter : at) {
    const double before = parameter, h = 1e-5;
    parameter = before + h;
    const double above = model.score(at, batch).loss;
    parameter = before - h;
    const double below = model.score(at, batch).loss;
    parameter = before;
    gradient.push_back((above - below) / (2 * h));
  }
  return gradient;
}

// 1/B sum v v' of one layer.
Dense dense_fisher(const Model<double>& model, const std::vector<double>& at, const DataSet& data,
                   const LayerInfo& layer) {
  const auto size = static_cast<Eigen::Index>(layer.size());
  Dense fisher = Dense::Zero(size, size);
  for (std::int32_t n = 0; n < data.count; ++n) {
    const std::vector<double> all = differences(model, at, data, n);
    const Eigen::Map<const Eigen::VectorXd> own(all.data() + layer.offset, size);
    fisher += own * own.transpose() / static_cast<double>(data.count);
  }
  return fisher;
}

struct Factors {
  FactorLayout layout;
  std::vector<double> values;
  Dense a(std::size_t l) const { return part(layout.layers[l].a_offset, layout.layers[l].a_dim); }
  Dense g(std::size_t l) const { return part(layout.layers[l].g_offset, layout.layers[l].g_dim); }

 private:
  Dense part(std::size_t offset, std::int64_t dim) const {
    return unpack_symmetric<double>(
        std::span<const double>(values).subspan(offset, triangle(static_cast<std::size_t>(dim))), dim);
  }
};

Factors factors_of(const Model<double>& model, const std::vector<double>& at, const DataSet& data) {
  Factors factors;
  factors.layout = factor_layout(model.layers());
  compute_factors<double>(factors.layout, differentiate(model, at, data).tap, factors.values);
  return factors;
}

// One convolution of two filters 2 x 2, tanh, and a linear layer.
std::unique_ptr<const Model<double>> small_cnn(const DataSet& data) {
  return testing::model_in_double("cnn").make(
      Json{{"channels", {2}}, {"kernel", 2}, {"padding", 0}, {"pool", 1}, {"activation", "tanh"}}, data);
}

// The patches and gradients of that convolution for 1 x 3 x 3 images (4 positions), by hand: column 4 n + s
// is sample n, position s; gradients are those of the sample's own loss.
struct ByHand {
  Dense patches, gradients;
};
ByHand convolution_by_hand(const std::vector<double>& at, const DataSet& data, int classes) {
  const auto count = static_cast<Eigen::Index>(data.count);
  ByHand result{Dense(5, 4 * count), Dense(2, 4 * count)};
  const double *filters = at.data(),
               *weights = at.data() + 10;  // 2 x 4 filters, 2 biases; classes x 8, biases
  for (Eigen::Index n = 0; n < count; ++n) {
    Dense hidden(2, 4);
    for (Eigen::Index s = 0; s < 4; ++s) {
      for (Eigen::Index k = 0; k < 4; ++k)
        result.patches(k, 4 * n + s) = static_cast<double>(
            data.floats[static_cast<std::size_t>(9 * n + (s / 2 + k / 2) * 3 + s % 2 + k % 2)]);
      result.patches(4, 4 * n + s) = 1;
      for (Eigen::Index f = 0; f < 2; ++f) {
        double sum = 0;
        for (Eigen::Index k = 0; k < 5; ++k) sum += filters[2 * k + f] * result.patches(k, 4 * n + s);
        hidden(f, s) = std::tanh(sum);
      }
    }
    std::vector<double> error(static_cast<std::size_t>(classes));  // softmax - one-hot
    double total = 0;
    for (Eigen::Index c = 0; c < classes; ++c) {
      double logit = weights[Eigen::Index{8} * classes + c];
      for (Eigen::Index i = 0; i < 8; ++i) logit += weights[i * classes + c] * hidden(i / 4, i % 4);
      total += error[static_cast<std::size_t>(c)] = std::exp(logit);
    }
    for (double& each : error) each /= total;
    error[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(n)])] -= 1;
    for (Eigen::Index i = 0; i < 8; ++i) {
      double back = 0;
      for (Eigen::Index c = 0; c < classes; ++c)
        back += weights[i * classes + c] * error[static_cast<std::size_t>(c)];
      result.gradients(i / 4, 4 * n + i % 4) = back * (1 - hidden(i / 4, i % 4) * hidden(i / 4, i % 4));
    }
  }
  return result;
}

DataSet images(int count, bool constant) {
  DataSet data = testing::random_classes(count, 9, 3, 8);
  data.channels = 1, data.height = data.width = 3;
  if (constant) std::fill(data.floats.begin(), data.floats.end(), 0.7F);
  return data;
}

double distance(const Dense& a, const Dense& b) { return (a - b).norm() / b.norm(); }

}  // namespace

TEST_CASE("the triangle of an n x n matrix has n(n+1)/2 numbers, and unpacks to the matrix it was") {
  CHECK(triangle(1) == 1);
  CHECK(triangle(3) == 6);
  CHECK(triangle(4608) == 10619136);  // 4608 x 4609 / 2
  Dense symmetric(3, 3);
  symmetric << 1, 2, 4, 2, 3, 5, 4, 5, 6;
  std::vector<double> packed(6);
  pack_upper<double>(symmetric, packed);
  CHECK(packed == std::vector<double>{1, 2, 3, 4, 5, 6});  // column by column
  CHECK(unpack_symmetric<double>(packed, 3) == symmetric);
}

TEST_CASE("with one sample, A (x) G is the dense Fisher matrix of every linear layer") {
  const DataSet data = equal_inputs(1, 4);
  const auto model =
      testing::model_in_double("mlp").make(Json{{"hidden", {3, 2}}, {"activation", "tanh"}}, data);
  const std::vector<double> at = some_parameters(model->parameters());
  const Factors factors = factors_of(*model, at, data);
  REQUIRE(factors.layout.layers.size() == 3);
  for (std::size_t l = 0; l < 3; ++l) {
    CAPTURE(l);
    CHECK(distance(kronecker(factors.a(l), factors.g(l)),
                   dense_fisher(*model, at, data, factors.layout.layers[l].layer)) < 1e-7);
  }
}

TEST_CASE(
    "with equal inputs and different labels too: A is the mean of a a', G that of g g' of each sample's loss") {
  const DataSet data = equal_inputs(5, 4);
  const auto model =
      testing::model_in_double("mlp").make(Json{{"hidden", {3}}, {"activation", "tanh"}}, data);
  const std::vector<double> at = some_parameters(model->parameters());
  const Factors factors = factors_of(*model, at, data);
  for (std::size_t l = 0; l < 2; ++l) {
    CAPTURE(l);
    CHECK(distance(kronecker(factors.a(l), factors.g(l)),
                   dense_fisher(*model, at, data, factors.layout.layers[l].layer)) < 1e-7);
  }
}

TEST_CASE("a linear layer with a bias has a 1 appended to its input: the last entry of A is 1") {
  const DataSet data = testing::random_classes(6, 4, 3, 1);
  const auto model = testing::model_in_double("mlp").make(Json{{"hidden", {3}}}, data);
  const Factors factors = factors_of(*model, some_parameters(model->parameters()), data);
  CHECK(factors.layout.layers[0].a_dim == 5);
  CHECK(factors.a(0)(4, 4) == doctest::Approx(1).epsilon(1e-14));
  double mean = 0;  // of the first input over samples
  for (std::size_t n = 0; n < 6; ++n) mean += static_cast<double>(data.floats[4 * n]) / 6;
  CHECK(factors.a(0)(0, 4) == doctest::Approx(mean).epsilon(1e-12));
}

TEST_CASE("a convolution's factors are 1/(B S^2) sum p p' and, of each sample's loss, S/B sum g g'") {
  const DataSet data = images(5, false);
  const auto model = small_cnn(data);
  const std::vector<double> at = some_parameters(model->parameters());
  const Factors factors = factors_of(*model, at, data);
  const ByHand hand = convolution_by_hand(at, data, 3);
  CHECK(distance(factors.a(0), hand.patches * hand.patches.transpose() / (5.0 * 4 * 4)) < 1e-13);
  CHECK(distance(factors.g(0), hand.gradients * hand.gradients.transpose() * (4 / 5.0)) < 1e-13);
  // The gradients by hand are right: patches and gradients give what finite differences give.
  Dense sum = Dense::Zero(2, 5);
  for (std::int32_t n = 0; n < 5; ++n) {
    const std::vector<double> all = differences(*model, at, data, n);
    sum += Eigen::Map<const Dense>(all.data(), 2, 5);
  }
  CHECK(distance(hand.gradients * hand.patches.transpose(), sum) < 1e-8);
}

TEST_CASE(
    "where all patches are equal, A (x) G is a convolution's Fisher matrix without the products of different positions") {
  const DataSet data = images(4, true);
  const auto model = small_cnn(data);
  const std::vector<double> at = some_parameters(model->parameters());
  const Factors factors = factors_of(*model, at, data);
  const ByHand hand = convolution_by_hand(at, data, 3);
  Dense fisher = Dense::Zero(10, 10);
  for (Eigen::Index column = 0; column < 16; ++column) {
    const Dense product = hand.gradients.col(column) * hand.patches.col(column).transpose();
    const Eigen::Map<const Eigen::VectorXd> one(product.data(), 10);
    fisher += one * one.transpose() / 4;
  }
  CHECK(distance(kronecker(factors.a(0), factors.g(0)), fisher) < 1e-12);
}

}  // namespace simsgd::test::algorithms_kfac_factors
