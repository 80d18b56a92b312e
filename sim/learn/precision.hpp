// Rounding to the 16-bit formats of messages, on the numeric plane: to nearest, ties to even, and back to
// float32.
//   fp16 (IEEE 754 binary16): 11 significant bits; magnitudes of 65,520 and more become infinite;
//   below 6.1e-5 precision is lost step by step, and magnitudes of 2^-25 and less become zero. bf16 (the
//   upper half of a float32): 8 significant bits, the range of float32. Kalamkar et al., 2019,
//   arXiv:1905.12322.
#pragma once

#include "sim/learn/tensor.hpp"

namespace simsgd {

float nearest_fp16(float x);
float nearest_bf16(float x);

/// Dense or sparse; indices and scalars stay as they are. Empty for an empty handle.
Tensor rounded_to_fp16(Executor& executor, const Tensor& values);
Tensor rounded_to_bf16(Executor& executor, const Tensor& values);

/// To the nearest of the 2^bits - 1 evenly spaced levels between minus and plus the largest magnitude of the
/// vector (symmetric uniform quantisation); as they are for 16 bits or more, which are formats of their own.
Tensor rounded_to_bits(Executor& executor, const Tensor& values, int bits);

}  // namespace simsgd
