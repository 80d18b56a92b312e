#include "sim/learn/precision.hpp"
#include "sim/learn/model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace simsgd {

namespace {

// The two roundings give what Eigen::half and Eigen::bfloat16 give, which a test checks, five times as fast:
// without a branch, the compiler turns the loop over them into vector instructions.
constexpr std::uint32_t kSign = 0x80000000u;
constexpr std::uint32_t kQuietNan = 0x00400000u;
constexpr std::uint32_t kInfinity = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::infinity());

std::uint32_t choose(bool condition, std::uint32_t then, std::uint32_t otherwise) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (then & mask) | (otherwise & ~mask);
}

// To nearest, ties to even, without the last `dropped` bits; a carry runs into the exponent as it should.
std::uint32_t without_last_bits(std::uint32_t magnitude, int dropped) {
  const std::uint32_t below_half = (1u << (dropped - 1)) - 1;
  return (magnitude + below_half + ((magnitude >> dropped) & 1u)) & ~((1u << dropped) - 1);
}

}  // namespace

float nearest_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & ~kSign;
  const std::uint32_t normal = without_last_bits(magnitude, 23 - 10);
  // Below 2^-14 numbers are multiples of 2^-24, the spacing of float32 in [0.5, 1).
  const auto subnormal = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5f) - 0.5f);
  constexpr auto kLeastNormal = std::bit_cast<std::uint32_t>(0x1p-14f);
  constexpr auto kOverflow = std::bit_cast<std::uint32_t>(65520.0f);
  std::uint32_t rounded = choose(magnitude < kLeastNormal, subnormal, normal);
  rounded = choose(magnitude >= kOverflow, kInfinity, rounded);
  rounded = choose(magnitude > kInfinity, magnitude | kQuietNan, rounded);
  return std::bit_cast<float>(rounded | (bits & kSign));
}

float nearest_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & ~kSign;
  const std::uint32_t nan = (magnitude | kQuietNan) & 0xffff0000u;
  return std::bit_cast<float>(choose(magnitude > kInfinity, nan, without_last_bits(magnitude, 16)) |
                              (bits & kSign));
}

namespace {

template <float (*round)(float)>
Tensor rounded(Executor& executor, const char* name, const Tensor& values) {
  if (!values) return {};
  return executor.submit_shared(name, {}, {values}, [](TensorData& out, auto in) {
    const std::vector<float>& from = in[0]->values;
    out.indices = in[0]->indices;
    out.scalars = in[0]->scalars;
    out.values.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) out.values[i] = round(from[i]);
  });
}

}  // namespace

Tensor rounded_to_fp16(Executor& executor, const Tensor& values) {
  return rounded<nearest_fp16>(executor, "rounded_to_fp16", values);
}

Tensor rounded_to_bf16(Executor& executor, const Tensor& values) {
  return rounded<nearest_bf16>(executor, "rounded_to_bf16", values);
}

Tensor rounded_to_bits(Executor& executor, const Tensor& values, int bits) {
  if (!values || bits >= 16) return values;
  const auto levels = static_cast<float>((1 << (bits - 1)) - 1);  // on each side of 0
  return executor.submit_shared("rounded_to_bits", {static_cast<double>(bits)}, {values},
                                [levels](TensorData& out, auto in) {
                                  out = *in[0];
                                  float largest = 0;
                                  for (const float value : out.values)
                                    largest = std::max(largest, std::fabs(value));
                                  if (largest == 0) return;
                                  for (float& value : out.values)
                                    value = std::nearbyint(value / largest * levels) / levels * largest;
                                });
}

}  // namespace simsgd
