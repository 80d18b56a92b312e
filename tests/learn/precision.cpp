// Rounding to 16-bit formats: examples by hand, and agreement with Eigen's types.
#include "sim/learn/precision.hpp"
#include "sim/learn/model.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <limits>

namespace simsgd::test::learn_precision {

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

}  // namespace simsgd::test::learn_precision
