// The numbers of K-FAC on matrices that fit on paper, and against dense linear algebra.
#include "algorithms/kfac/kfac_math.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <cmath>

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

}  // namespace simsgd::test::algorithms_kfac_math
