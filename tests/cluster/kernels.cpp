// What kernels take on a device, by hand.
#include "sim/cluster/kernels.hpp"

#include <doctest/doctest.h>

namespace simsgd::test::cluster_kernels {

using doctest::Approx;

namespace {

// 1 TFLOP/s of which training reaches half, 1 TB/s of memory.
Device one_tera() {
  Device device;
  device.peak_flops = 1e12;
  device.efficiency = 0.5;
  device.memory_Bps = 1e12;
  return device;
}

Approx exactly(double seconds) { return Approx(seconds).epsilon(1e-12); }

std::vector<std::string> unknown(const Device& device, DeviceKernel kernel) {
  std::vector<std::string> keys;
  for (const UnknownCost& cost : unknown_costs(device, kernel)) keys.push_back(cost.key);
  return keys;
}

}  // namespace

TEST_CASE("a product of matrices takes 2 m n k FLOPs at the efficiency of products, or of training") {
  Device device = one_tera();
  // 2 x 100 x 200 x 300 = 12 Mflop at 0.5 Tflop/s
  CHECK(gemm_s(device, {.m = 100, .n = 200, .k = 300}) == exactly(24e-6));
  device.gemm.efficiency = 0.25;
  CHECK(gemm_s(device, {.m = 100, .n = 200, .k = 300}) == exactly(48e-6));
  device.peak_flops = 0;
  CHECK(gemm_s(device, {.m = 100, .n = 200, .k = 300}) == 0);
}

TEST_CASE(
    "with tiles a product takes what its last tiles lack, too, and what fills them costs nothing more") {
  Device device = one_tera();
  device.gemm.tile = 128;
  // 100 x 200 in tiles of 128 is 128 x 256: 2 x 128 x 256 x 300 = 19.6608 Mflop at 0.5 Tflop/s; k has no
  // tiles
  CHECK(gemm_s(device, {.m = 100, .n = 200, .k = 300}) == exactly(39.3216e-6));
  CHECK(gemm_s(device, {.m = 128, .n = 256, .k = 300}) == exactly(39.3216e-6));
  CHECK(gemm_s(device, {.m = 129, .n = 256, .k = 300}) == exactly(2 * 39.3216e-6));
  CHECK(gemm_s(device, {.m = 0, .n = 200, .k = 300}) == 0);
  device.gemm.memory_bound = true;  // bytes are those of the matrices: 4 (1 x 10^6 + 10^6 x 1 + 1) at 1 TB/s
  device.gemm.tile = 1;
  CHECK(gemm_s(device, {.m = 1, .n = 1, .k = 1e6}) == exactly(8.000004e-6 + device.launch_s));
  device.gemm.memory_bound = false;
  CHECK(gemm_s(device, {.m = 100, .n = 200, .k = 300}) == exactly(24e-6));
  device.gemm.tile = 100;
  device.gemm.times = {{.m = 100, .n = 200, .k = 300, .seconds = 1e-3},
                       {.m = 150, .n = 200, .k = 300, .seconds = 2e-3}};
  // measured times have their tiles in them
  CHECK(gemm_s(device, {.m = 150, .n = 200, .k = 300}) == exactly(2e-3));
}

TEST_CASE("a pass over a vector takes the bytes that it reads and writes") {
  Device device = one_tera();
  CHECK(vector_pass_s(device, {.read = 3e6, .written = 1e6}) == exactly(4e-6));
  device.vector_pass.efficiency = 0.8;
  CHECK(vector_pass_s(device, {.read = 3e6, .written = 1e6}) == exactly(5e-6));
  device.memory_Bps = 0;
  CHECK(vector_pass_s(device, {.read = 3e6, .written = 1e6}) == 0);
}

TEST_CASE("choosing k of n takes n log2 n, whatever k") {
  Device device = one_tera();
  CHECK(select_s(device, {.k = 1, .n = 1024}) == 0);  // unknown
  device.selection_s = 1e-9;
  CHECK(select_s(device, {.k = 1, .n = 1024}) == exactly(10240e-9));  // 1024 x 10
  CHECK(select_s(device, {.k = 512, .n = 1024}) == exactly(10240e-9));
  CHECK(select_s(device, {.k = 1, .n = 1}) == 0);
}

TEST_CASE("an inverse takes n^3 FLOPs, or what was measured, interpolated on logarithmic scales") {
  Device device = one_tera();
  CHECK(invert_s(device, 1000) == exactly(2e-3));  // 10^9 flop at 0.5 Tflop/s
  device.inverse.times = {{100, 1e-3}, {1000, 1e-2}, {10000, 10}};
  CHECK(invert_s(device, 100) == exactly(1e-3));
  CHECK(invert_s(device, 400) == exactly(4e-3));   // linear here
  CHECK(invert_s(device, 2000) == exactly(8e-2));  // cubic here
  CHECK(invert_s(device, 10) == exactly(1e-4));    // beyond: as the nearest two
  CHECK(invert_s(device, 20000) == exactly(80));
  device.inverse.overhead_s = 0.5;
  CHECK(invert_s(device, 400) == exactly(0.504));
  device.inverse.times = {{100, 1e-3}};
  CHECK(invert_s(device, 5000) == exactly(0.501));  // one measurement holds for all
}

TEST_CASE(
    "a QR factorisation takes 2 m n^2 - 2/3 n^3 FLOPs, its columns one after another, and its overhead") {
  Device device = one_tera();
  device.gemm.efficiency = 0.25;
  // m = 1000, n = 30: 1.8e6 - 18e3 = 1.782 Mflop at 0.25 Tflop/s; of a square one 4/3 n^3
  CHECK(qr_s(device, {.m = 1000, .n = 30}) == exactly(7.128e-6));
  CHECK(qr_s(device, {.m = 300, .n = 300}) == exactly(36e6 / 0.25e12));
  CHECK(qr_s(device, {.m = 30, .n = 1000}) == exactly(7.128e-6));  // its transpose
  device.qr.column_s = 1e-6;
  device.qr.overhead_s = 100e-6;
  CHECK(qr_s(device, {.m = 1000, .n = 30}) == exactly(137.128e-6));
}

TEST_CASE("measured QR factorisations are interpolated by their FLOPs, columns included") {
  Device device = one_tera();
  device.qr.column_s = 1;
  device.qr.times = {{300, 300, 1e-3}, {3000, 3000, 1}};  // 36 Mflop, 36 Gflop: linear
  CHECK(qr_s(device, {.m = 300, .n = 300}) == exactly(1e-3));
  CHECK(qr_s(device, {.m = 600, .n = 600}) == exactly(8e-3));  // 8 times the FLOPs
  device.qr.overhead_s = 1e-3;
  CHECK(qr_s(device, {.m = 600, .n = 600}) == exactly(9e-3));
}

TEST_CASE("rounding to b bits is a pass that reads 4 bytes and writes b/8, or what is said of it") {
  Device device = one_tera();
  CHECK(quantise_s(device, {.numbers = 1e6, .bits = 8}) == exactly(5e-6));
  CHECK(quantise_s(device, {.numbers = 1e6, .bits = 4}) == exactly(4.5e-6));
  device.quantise_s = 1e-10;
  CHECK(quantise_s(device, {.numbers = 1e6, .bits = 4}) == exactly(1e-4));
}

TEST_CASE(
    "gathering and adding vectors is a pass over 20 bytes a number where the device's passes are known") {
  Device device = one_tera();
  device.complete();
  CHECK(accumulate_s(device, 1e6) == 0);
  device.vector_pass.efficiency = 0.5;
  device.complete();
  CHECK(accumulate_s(device, 1e6) == exactly(40e-6));
  device.accumulate_s = 1e-9;
  device.complete();
  CHECK(accumulate_s(device, 1e6) == exactly(1e-3));
}

TEST_CASE("what a kernel needs and the device does not know has a name") {
  using Keys = std::vector<std::string>;
  Device device = one_tera();
  CHECK(unknown(device, DeviceKernel::gemm) == Keys{"gemm.efficiency"});
  CHECK(unknown(device, DeviceKernel::vector_pass) == Keys{"vector_pass"});
  CHECK(unknown(device, DeviceKernel::select) == Keys{"selection"});
  CHECK(unknown(device, DeviceKernel::invert) == Keys{"inverse.times", "inverse.overhead"});
  CHECK(unknown(device, DeviceKernel::qr) == Keys{"gemm.efficiency", "qr.column", "qr.overhead"});
  CHECK(unknown(device, DeviceKernel::quantise) == Keys{"vector_pass"});
  CHECK(unknown(device, DeviceKernel::accumulate) == Keys{"accumulate"});
  device.qr.times = {{300, 300, 1e-3}};
  device.quantise_s = 0;
  device.vector_pass.efficiency = 1;
  device.complete();
  CHECK(unknown(device, DeviceKernel::qr) == Keys{"qr.overhead"});
  CHECK(unknown(device, DeviceKernel::quantise).empty());
  CHECK(unknown(device, DeviceKernel::accumulate).empty());
}

TEST_CASE("laws are told with the device's numbers, and what is unknown as such") {
  Device device = one_tera();
  device.vector_pass.efficiency = 0.9;
  device.inverse.times = {{100, 1e-3}, {1000, 1e-2}};
  device.inverse.overhead_s = 20e-6;
  const std::vector<std::string> laws = {
      "2 m n k FLOPs at 1 TFLOP/s x 0.5",
      "bytes read and written at 1 TB/s x 0.9",
      "no time: selection is unknown",
      "table of 2 measured times, and 20 us",
      "2 m n^2 - 2/3 n^3 FLOPs at 1 TFLOP/s x 0.5, an unknown time a column, and an unknown time",
      "4 + bits/8 bytes a number at 1 TB/s x 0.9",
      "no time: accumulate is unknown"};
  const std::vector<KernelDescription> kernels = describe_kernels(device);
  REQUIRE(kernels.size() == laws.size());
  for (std::size_t i = 0; i < laws.size(); ++i) {
    CHECK(kernels[i].law == laws[i]);
    CHECK(!kernels[i].samples.empty());
  }
}

}  // namespace simsgd::test::cluster_kernels
