// The numbers of K-FAC on matrices that fit on paper, and against dense linear algebra.
#include <doctest/doctest.h>

#include <Eigen/LU>
#include <nlohmann/json.hpp>

#include <cmath>

#include "algorithms/kfac/kfac_math.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/model.hpp"
#include "tests/algorithms/kfac_support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::algorithms_kfac_math {

namespace {

using Dense = Matrix<double>;

Tensor vector_of(Executor& executor, const std::vector<float>& values) {
  return executor.constant({values, {}, {}});
}

// A symmetric positive definite matrix, packed.
std::vector<float> random_factor(std::int64_t dim, std::uint64_t seed) {
  Stream stream({seed, Purpose::algorithm, 0, 1});
  Matrix<float> half(dim, dim);
  for (Eigen::Index i = 0; i < half.size(); ++i) half.data()[i] = static_cast<float>(stream.normal());
  const Matrix<float> whole = half * half.transpose() / static_cast<float>(dim);
  std::vector<float> packed(triangle(static_cast<std::size_t>(dim)));
  pack_upper<float>(whole, packed);
  return packed;
}

Dense dense(const std::vector<float>& packed, std::int64_t dim) {
  return unpack_symmetric<float>(packed, dim).cast<double>();
}

std::string error_of(Executor& executor, const Tensor& values) {
  return refusal_of<RunError>([&] { executor.get(values); });
}

// V for the weights W of a layer without bias of 1 x 1, with A = 3, G = 1 and damping 1:
// V = W / ((3 + 1) (1 + 1)) = W / 8.
float clipped(double weight, double learning_rate, double kl_clip) {
  Executor executor(1);
  const LayerFactors layer = linear_layer(1, 1, false);
  const KfacMath math{.damping = 1};
  const FactorPair factors{vector_of(executor, {3}), vector_of(executor, {1})};
  const FactorPair inverses{inverse_a(executor, layer, factors, math, 1),
                            inverse_g(executor, layer, factors, math, 1)};
  FactorLayout layout{{layer}, 2};
  const Tensor direction = precondition(executor, layout, vector_of(executor, {static_cast<float>(weight)}),
                                        {inverses}, learning_rate, kl_clip);
  return executor.get(direction).values[0];
}

}  // namespace

TEST_CASE("preconditioning solves with the dense Kronecker product of the damped factors") {
  Executor executor(1);
  const LayerFactors layer = linear_layer(3, 4, true);  // 3 x 5
  const std::vector<float> a = random_factor(5, 1), g = random_factor(3, 2);
  const FactorPair factors{vector_of(executor, a), vector_of(executor, g)};
  std::vector<float> gradient(15);
  for (std::size_t i = 0; i < 15; ++i) gradient[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  const double mean_a = dense(a, 5).trace() / 5, mean_g = dense(g, 3).trace() / 3;
  const double pi = std::sqrt(mean_a / mean_g);
  const struct {
    bool split;
    double damping_a, damping_g;
  } cases[] = {{false, 0.09, 0.09}, {true, 0.3 * pi, 0.3 / pi}};  // sqrt(0.09) = 0.3
  for (const auto& each : cases) {
    CAPTURE(each.split);
    const KfacMath math{.damping = 0.09, .split_by_pi = each.split};
    const FactorPair inverses{inverse_a(executor, layer, factors, math, 1),
                              inverse_g(executor, layer, factors, math, 1)};
    FactorLayout layout{{layer}, 0};
    const Tensor direction = precondition(executor, layout, vector_of(executor, gradient), {inverses}, 1, 0);
    const Dense fisher = kronecker(dense(a, 5) + each.damping_a * Dense::Identity(5, 5),
                                   dense(g, 3) + each.damping_g * Dense::Identity(3, 3));
    const Eigen::VectorXd right = Eigen::Map<const Eigen::VectorXf>(gradient.data(), 15).cast<double>();
    const Eigen::VectorXd expected = fisher.partialPivLu().solve(right);
    const std::vector<float>& found = executor.get(direction).values;
    for (Eigen::Index i = 0; i < 15; ++i)
      CHECK(static_cast<double>(found[static_cast<std::size_t>(i)]) ==
            doctest::Approx(expected(i)).epsilon(1e-4 * expected.norm()));
  }
}

TEST_CASE(
    "factors of many panels are the products of their samples, and their inverses those of dense algebra") {
  Executor executor(1);
  constexpr std::int64_t kDim = 300, kSamples = 40;
  LayerTap<float> tap;
  Stream stream({9, Purpose::algorithm, 0, 1});
  for (const std::int64_t rows : {kDim, std::int64_t{2}}) {
    Matrix<float> columns(rows, kSamples);
    for (Eigen::Index i = 0; i < columns.size(); ++i) columns.data()[i] = static_cast<float>(stream.normal());
    (rows == kDim ? tap.layers.emplace_back().input : tap.layers.back().output_gradient) = columns;
  }
  const LayerFactors layer = linear_layer(2, kDim, false);
  FactorLayout layout{{layer}, triangle(kDim) + triangle(2)};
  std::vector<float> values;
  compute_factors<float>(layout, tap, values);
  REQUIRE(values.size() == layout.size);
  const std::vector<float> a(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(triangle(kDim)));
  const Dense input = tap.layers[0].input.cast<double>();
  CHECK((dense(a, kDim) - input * input.transpose() / static_cast<double>(kSamples)).cwiseAbs().maxCoeff() <
        1e-6);
  // Of rank 40: the other 260 of its eigenvalues are the damping.
  const FactorPair factors{vector_of(executor, a), vector_of(executor, {1, 0, 1})};
  const Tensor inverse = inverse_a(executor, layer, factors, {.damping = 0.01}, 1);
  const Dense damped = dense(a, kDim) + 0.01 * Dense::Identity(kDim, kDim);
  const Dense expected = damped.partialPivLu().inverse();
  CHECK((dense(executor.get(inverse).values, kDim) - expected).norm() < 1e-4 * expected.norm());
}

TEST_CASE("parameters that have no factors keep their gradient") {
  Executor executor(1);
  LayerFactors layer = linear_layer(1, 1, false);
  layer.layer.offset = 1;
  const FactorPair half{vector_of(executor, {0.5F}), vector_of(executor, {1})};
  const Tensor direction = precondition(executor, {{layer}, 0}, vector_of(executor, {7, 8, 9}), {half}, 1, 0);
  CHECK(executor.get(direction).values == std::vector<float>{7, 4, 9});
}

TEST_CASE("the running average starts at the identity; released, the old factor weighs 0.05") {
  Executor executor(1);
  const LayerFactors layer = linear_layer(2, 1, false);
  const FactorPair first{vector_of(executor, {2}), vector_of(executor, {4, 1, 6})};
  const FactorPair second{vector_of(executor, {8}), vector_of(executor, {0, 0, 0})};
  const FactorPair once = average_factors(executor, layer, {}, first, 0.05);
  CHECK(executor.get(once.a).values[0] == doctest::Approx(0.05 * 1 + 0.95 * 2));
  const std::vector<float>& g = executor.get(once.g).values;
  CHECK(g[0] == doctest::Approx(0.05 + 0.95 * 4));  // (0, 0)
  CHECK(g[1] == doctest::Approx(0.95 * 1));         // (0, 1): the identity has 0 here
  CHECK(g[2] == doctest::Approx(0.05 + 0.95 * 6));  // (1, 1)
  const FactorPair twice = average_factors(executor, layer, once, second, 0.05);
  CHECK(executor.get(twice.a).values[0] == doctest::Approx(0.05 * 1.95 + 0.95 * 8));
  CHECK(KfacMath{}.old_weight == 0.05);
}

TEST_CASE("inverting leaves the stored factors as they are, whatever the damping and its rule") {
  Executor executor(1);
  const LayerFactors layer = linear_layer(3, 3, false);
  const std::vector<float> a = random_factor(3, 3), g = random_factor(3, 4);
  const FactorPair factors{vector_of(executor, a), vector_of(executor, g)};
  for (const bool split : {false, true}) {
    const KfacMath math{.damping = 10, .split_by_pi = split};
    const std::vector<float> inverse = executor.get(inverse_a(executor, layer, factors, math, 1)).values;
    executor.get(inverse_g(executor, layer, factors, math, 1));
    CHECK(executor.get(factors.a).values == a);
    CHECK(executor.get(factors.g).values == g);
    // The same again: nothing of the first inversion is left in the second.
    CHECK(executor.get(inverse_a(executor, layer, factors, math, 2)).values == inverse);
  }
}

TEST_CASE("KL clip: nu = min(1, sqrt(kappa / |V W eta^2|))") {
  CHECK(clipped(2, 1, 0) == doctest::Approx(0.25));  // no clip: 2 / 8
  // |0.25 x 2 x 1| = 0.5, nu = sqrt(0.001 / 0.5) = 0.0447214
  CHECK(clipped(2, 1, 0.001) == doctest::Approx(0.25 * 0.0447214).epsilon(1e-6));
  CHECK(clipped(-2, 1, 0.001) == doctest::Approx(-0.25 * 0.0447214).epsilon(1e-6));
  // eta = 0.04: 0.5 x 0.0016 = 0.0008 < 0.001, so nu = 1
  CHECK(clipped(2, 0.04, 0.001) == doctest::Approx(0.25));
}

TEST_CASE("a factor that is not positive definite ends the run with a sentence") {
  Executor executor(1);
  const LayerFactors layer = linear_layer(1, 2, false);
  const FactorPair factors{vector_of(executor, {1, 0, -1}), vector_of(executor, {0})};
  const KfacMath math{.damping = 0.002};
  CHECK(
      error_of(executor, inverse_a(executor, layer, factors, math, 7)) ==
      "K-FAC cannot invert the factor A of the layer \"linear1\" (2 x 2) in step 7: with a damping of 0.002 on its diagonal it is not positive definite. Use a larger damping.");
  // 0 is singular, and the damping mends it: (0 + 0.002)^-1 = 500
  CHECK(executor.get(inverse_g(executor, layer, factors, math, 7)).values[0] == doctest::Approx(500));
}

TEST_CASE("so does one that is not finite") {
  Executor executor(1);
  const LayerFactors layer = linear_layer(1, 2, false);
  const FactorPair factors{vector_of(executor, {1, 0, 1}), vector_of(executor, {std::nanf("")})};
  CHECK(
      error_of(executor, inverse_g(executor, layer, factors, {}, 3)) ==
      "K-FAC cannot invert the factor G of the layer \"linear1\" (1 x 1) in step 3: it has entries that are not finite. The training diverged; use a smaller learning rate, a larger damping or a smaller kl_clip.");
}

// Kronecker factors against Fisher matrices that are computed without them. For a layer with gradients v_n of
// sample n's loss, the Fisher matrix of the mini-batch is F = 1/B sum_n v_n v_n'. It equals the Kronecker
// product of A and G where the inputs are the same for all samples: then v_n = a (x) g_n.

using simsgd::testing::differentiate;
using simsgd::testing::Differentiated;

namespace {

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
  constexpr Eigen::Index kDim = 2 * kFactorPanel + 3;  // of several panels
  const Dense any = Dense::Random(kDim, kDim);
  const Dense larger = any + any.transpose();
  packed.resize(triangle(kDim));
  pack_upper<double>(larger, packed);
  CHECK(unpack_symmetric<double>(packed, kDim) == larger);
  for (Eigen::Index j = 0; j < kDim; ++j)
    CHECK(packed[packed_diagonal(static_cast<std::size_t>(j))] == larger(j, j));
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

}  // namespace simsgd::test::algorithms_kfac_math
