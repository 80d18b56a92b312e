// What kernels take on a device, in seconds, at nominal speed: the one place where a size becomes a time.
// What a training method computes beside its forward and backward pass is a sum of these. F is peak_flops, M
// memory_bandwidth; the other numbers are the settings of that name (device.hpp). Kernels add up: no kernel
// overlaps another, and the launch of a kernel is in its overhead where there is one.
//
//   gemm      (m x k) (k x n): 2 m n k / (F gemm.efficiency)                 the compute side of a roofline
//             with gemm.tile m and n count up to full tiles: what the last ones lack is computed too (NVIDIA,
//             Matrix Multiplication Background User's Guide, "Tile Quantization")
//             with gemm.memory_bound the longer of that and a pass over 4 (m k + k n + m n) bytes, + launch
//             with a table gemm.times, inside its range: at the rate between those of two measurements, the
//             nearest shape with no more FLOPs and the nearest with no fewer, by FLOPs on logarithmic scales;
//             m and n may change places. How far apart two shapes are: sqrt of the sum of squares of the
//             logarithms of their ratios in m, n and k. Along one shape (squares) this is a line through its
//             neighbours; a shape unlike all that were measured is off by as much as their rates differ
//   pass      (read + written) / (M vector_pass.efficiency), bytes           the memory side of a roofline
//   select    k of n by magnitude: selection n log2 n, whatever k            a law with one fitted constant
//             with a table selection_times, inside its range: between measurements of one density by n, and
//             between the two densities around k / n by density, on logarithmic scales
//   invert    symmetric n x n: inverse.times between two measurements on logarithmic scales, and beyond them
//             along the nearest two; + inverse.overhead                      a table
//             without a table n^3 / (F efficiency): Cholesky n^3/3, inversion 2 n^3/3
//   qr        m x n, m >= n: (2 m n^2 - 2/3 n^3) / (F gemm.efficiency) + n qr.column + qr.overhead
//                                                                            FLOPs of Householder, and n
//                                                                            steps
//             with a table qr.times, by their FLOPs on logarithmic scales, + qr.overhead
//   quantise  N numbers to b bits: N quantise; where that is not given, a pass that reads 4 N and writes
//             N b/8 bytes                                                    the memory side of a roofline
//   accumulate  gathers N numbers of many tensors into one vector and adds another vector: N accumulate;
//   where
//             that is not given, a pass over 20 N bytes (4 read, 4 written; 8 read, 4 written)
//
// Outside the range of gemm.times (each of m, n, k, and FLOPs) and selection_times (densities; entries of the
// densities around) a kernel takes what the table gives at the nearest size inside, times the ratio of what
// the law without a table gives for both. `beyond_table` tells, and results note it.
//
// Roofline: Williams, Waterman, Patterson, CACM 52(4), 2009, doi 10.1145/1498765.1498785. FLOPs: Golub, Van
// Loan, Matrix Computations, 4th ed., 5.2.2 (QR), 4.2.3 (Cholesky). They hold for sizes that fill the device:
// small products are bound by launches, which nothing here knows but the overheads. An unknown cost counts as
// 0 or by the rule that is named above; `unknown_costs` says which these are. Test:
// tests/cluster/kernels.cpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/device.hpp"

namespace simsgd {

struct GemmSize {
  double m = 0, n = 0, k = 0;
};
double gemm_s(const Device& device, const GemmSize& size);
/// Whether the time follows from measurements around that size.
bool is_measured(const Device& device, const GemmSize& size);

struct PassBytes {
  double read = 0, written = 0;
};
double vector_pass_s(const Device& device, const PassBytes& bytes);

struct SelectSize {
  double k = 0, n = 0;
};
double select_s(const Device& device, const SelectSize& size);
bool is_measured(const Device& device, const SelectSize& size);

/// What is to be said where a size is beyond the device's table: empty where it is not, or there is none. The
/// same for all sizes.
std::string beyond_table(const Device& device, const GemmSize& size);
std::string beyond_table(const Device& device, const SelectSize& size);

/// Throw ParameterError, with a key below the device, where a table cannot be read off: it is out of order,
/// says a size twice, or gives a density in some entries only.
void check_tables(const Device& device);

/// Of a symmetric matrix of n rows.
double invert_s(const Device& device, double n);

/// The reduced factorisation; of a matrix that is wider than high, that of its transpose.
struct QrSize {
  double m = 0, n = 0;
};
double qr_s(const Device& device, const QrSize& size);
double qr_flop(const QrSize& size);

struct QuantiseSize {
  double numbers = 0, bits = 8;
};
double quantise_s(const Device& device, const QuantiseSize& size);

double accumulate_s(const Device& device, double numbers);

enum class DeviceKernel { gemm, vector_pass, select, invert, qr, quantise, accumulate };

/// A cost that a kernel uses and the device does not know: its key in the device's file, and what holds
/// instead.
struct UnknownCost {
  std::string key;
  std::string instead;
};
std::vector<UnknownCost> unknown_costs(const Device& device, DeviceKernel kernel);

/// A kernel for people: its law with the device's numbers, and what it gives for some sizes.
struct KernelDescription {
  DeviceKernel kernel{};
  std::string name, law;
  std::vector<std::pair<std::string, double>> samples;  ///< the size in words, seconds
};
std::vector<KernelDescription> describe_kernels(const Device& device);

}  // namespace simsgd
