// What kernels take on a device, by hand.
#include <doctest/doctest.h>

#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/log_interpolation.hpp"
#include "sim/cluster/kernels.hpp"
#include "tests/support/refusal.hpp"

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

// Tables of measured products and selections: on, between and beyond their entries, against numbers by hand
// and a device that follows a known law.

namespace {

/// 1 TFLOP/s of which products reach half, 1 TB/s.
Device one_tera_of_products() {
  Device device;
  device.name = "D";
  device.peak_flops = 1e12;
  device.gemm.efficiency = 0.5;
  device.memory_Bps = 1e12;
  return device;
}

GemmSize square(double n) { return {.m = n, .n = n, .k = n}; }

/// Squares of 100 at 0.1 Tflop/s, of 1000 at 0.4 Tflop/s.
Device two_squares() {
  Device device = one_tera_of_products();
  device.gemm.times = {{100, 100, 100, 2e6 / 0.1e12}, {1000, 1000, 1000, 2e9 / 0.4e12}};
  return device;
}

/// A device of another making: rates that grow with size and suffer from thinness.
double true_gemm_s(double m, double n, double k) {
  const double flop = 2 * m * n * k, bytes = 4 * (m * k + k * n + m * n);
  return flop / 0.8e12 + bytes / 0.9e12 + 4e-6;
}

}  // namespace

TEST_CASE("between points a power law; outside it goes on or is refused, and ends are met to a rounding") {
  const LogPoint square[] = {{1, 1}, {10, 100}, {1000, 2e4}};  // x^2, then x^(ln 200 / ln 100)
  for (const Outside outside : {Outside::continued, Outside::refused}) {
    CHECK(*log_interpolated(square, 3, outside) == exactly(9));
    CHECK(*log_interpolated(square, 10, outside) == 100);
    CHECK(*log_interpolated(square, 100, outside) == exactly(100 * std::sqrt(200.0)));
    CHECK(*log_interpolated(square, 1 - 1e-14, outside) == 1);
    CHECK(*log_interpolated(square, 1000 * (1 + 1e-14), outside) == 2e4);
  }
  CHECK(*log_interpolated(square, 0.5, Outside::continued) == exactly(0.25));
  CHECK(*log_interpolated(square, 1e5, Outside::continued) == exactly(4e6));
  for (const double x : {0.5, 1001.0}) CHECK(!log_interpolated(square, x, Outside::refused));
  // One point; and zeros, which have no logarithm.
  CHECK(*log_interpolated(std::span(square, 1), 7, Outside::continued) == 1);
  CHECK(!log_interpolated(std::span(square, 1), 7, Outside::refused));
  const LogPoint zero[] = {{0, 2}, {10, 4}};
  CHECK(*log_interpolated(zero, 5, Outside::refused) == exactly(3));
  CHECK(*log_interpolated(zero, 0, Outside::refused) == 2);
}

TEST_CASE("a product that was measured takes what was measured, and its transpose too") {
  Device device = one_tera_of_products();
  device.gemm.times = {{64, 64, 64, 5e-6}, {512, 4, 512, 7e-6}, {512, 512, 512, 9e-4}, {2048, 8, 4096, 2e-3}};
  for (const GemmKernel::Time& time : device.gemm.times) {
    const double m = time.m, n = time.n, k = time.k;
    CHECK(gemm_s(device, {.m = m, .n = n, .k = k}) == exactly(time.seconds));
    CHECK(gemm_s(device, {.m = n, .n = m, .k = k}) == exactly(time.seconds));
    CHECK(is_measured(device, GemmSize{.m = n, .n = m, .k = k}));
  }
}

TEST_CASE("between two squares the time is a line through both on logarithmic scales, by FLOPs") {
  const Device device = two_squares();
  // 20 us and 5 ms: 250 times the time for 1000 times the FLOPs. n = 100 sqrt(10) lies half way.
  CHECK(gemm_s(device, square(100 * std::sqrt(10.0))) == exactly(20e-6 * std::sqrt(250.0)));
  double before = 0;
  for (double n = 100; n <= 1000; n *= 1.07) {
    CAPTURE(n);
    CHECK(gemm_s(device, square(n)) > before);
    before = gemm_s(device, square(n));
  }
}

TEST_CASE("beyond the squares a product takes the roofline, scaled to the nearest of them") {
  const Device device = two_squares();
  // 2000: 8 times the FLOPs of 1000; 50: an eighth of those of 100.
  CHECK(gemm_s(device, square(2000)) == exactly(8 * 5e-3));
  CHECK(gemm_s(device, square(50)) == exactly(20e-6 / 8));
  // Thin: 1000 x 4 x 1000 is 25 times less than the nearest shape inside, 1000 x 100 x 1000, half way
  // (2/3 of the logarithm of 1000) between rates of 0.1 and 0.4 Tflop/s.
  const double rate = 0.1e12 * std::pow(4.0, 2.0 / 3);
  CHECK(gemm_s(device, {.m = 1000, .n = 4, .k = 1000}) == exactly(2 * 4e6 / rate));
  CHECK(beyond_table(device, square(100)) == "");
  CHECK(beyond_table(device, square(1000)) == "");
  for (const GemmSize& size : {square(99), square(1001), GemmSize{.m = 1000, .n = 4, .k = 1000}})
    CHECK(
        beyond_table(device, size) ==
        "products of matrices of sizes beyond those in \"gemm.times\" of device D are scaled from its nearest edge");
  CHECK(beyond_table(one_tera_of_products(), square(99)) == "");  // there is no table
}

TEST_CASE("without a peak the rate of the nearest edge holds beyond the table") {
  Device device = two_squares();
  device.peak_flops = 0;
  CHECK(gemm_s(device, square(2000)) == exactly(8 * 5e-3));
  CHECK(gemm_s(device, square(100)) == exactly(20e-6));
}

TEST_CASE("a single product gives its rate to all others, and of equal FLOPs the nearer shape decides") {
  Device device = one_tera_of_products();
  device.gemm.times = {{10, 20, 30, 1e-6}};
  CHECK(gemm_s(device, {.m = 20, .n = 10, .k = 30}) == exactly(1e-6));
  CHECK(gemm_s(device, {.m = 100, .n = 200, .k = 300}) == exactly(1e-3));
  CHECK(gemm_s(device, {.m = 0, .n = 20, .k = 30}) == 0);
  device.gemm.times = {{64, 64, 1, 1e-6}, {16, 16, 16, 3e-6}, {64, 64, 64, 64e-6}};  // two of 8192 FLOPs
  CHECK(gemm_s(device, {.m = 16, .n = 16, .k = 16}) == exactly(3e-6));
  CHECK(gemm_s(device, {.m = 64, .n = 64, .k = 1}) == exactly(1e-6));
  CHECK(gemm_s(device, {.m = 32, .n = 16, .k = 8}) == exactly(3e-6));
  CHECK(gemm_s(device, {.m = 64, .n = 42.0 + 2.0 / 3, .k = 1.5}) == exactly(1e-6));
}

TEST_CASE("a table of every fourth size of a device predicts the sizes between them") {
  Device device = one_tera_of_products();
  for (const int n : {4, 64, 1024})
    for (const int m : {64, 256, 1024, 4096})
      for (const int k : {64, 256, 1024, 4096})
        if (m >= n) device.gemm.times.push_back({m, n, k, true_gemm_s(m, n, k)});
  std::sort(device.gemm.times.begin(), device.gemm.times.end(),
            [](const auto& a, const auto& b) { return 1.0 * a.m * a.n * a.k < 1.0 * b.m * b.n * b.k; });
  CHECK_NOTHROW(check_tables(device));
  Device by_flop = one_tera_of_products();
  by_flop.gemm.efficiency = 0.8;  // the peak that it has
  double worst = 0, sum = 0, roofline = 0;
  int count = 0;
  for (const double n : {4.0, 16.0, 64.0, 256.0, 1024.0})
    for (const double m : {128.0, 512.0, 2048.0})
      for (const double k : {128.0, 512.0, 2048.0}) {
        if (m < n) continue;
        CHECK(is_measured(device, GemmSize{.m = m, .n = n, .k = k}));
        const double truth = std::log(true_gemm_s(m, n, k));
        const double error = std::abs(std::log(gemm_s(device, {.m = m, .n = n, .k = k})) - truth);
        roofline += std::abs(std::log(gemm_s(by_flop, {.m = m, .n = n, .k = k})) - truth);
        worst = std::max(worst, error);
        sum += error;
        ++count;
      }
  MESSAGE("mean and worst |log ratio|: " << sum / count << ", " << worst << "; roofline "
                                         << roofline / count);
  CHECK(sum < 0.35 * roofline);
}

TEST_CASE("with the memory's side of the roofline a thin product takes the pass over its matrices") {
  Device device = one_tera_of_products();
  device.gemm.memory_bound = true;
  // 1000 x 4 x 1000: 8 Mflop at 0.5 Tflop/s are 16 us; 4 (10^6 + 4000 + 4000) bytes at 1 TB/s 4.032 us.
  CHECK(gemm_s(device, {.m = 1000, .n = 4, .k = 1000}) == exactly(16e-6));
  CHECK(gemm_s(device, {.m = 1000, .n = 1, .k = 1000}) == exactly(4.008e-6));  // 4 us of FLOPs
  device.launch_s = 5e-6;
  CHECK(gemm_s(device, {.m = 1000, .n = 4, .k = 1000}) == exactly(21e-6));
  // A square table, and a product of rank 1 beyond it: by the ratio of rooflines, 9.008 to 10 us + 5 us.
  device.gemm.times = {{1000, 100, 1000, 1e-3}};
  CHECK(gemm_s(device, {.m = 1000, .n = 1, .k = 1000}) == exactly(1e-3 * 9.008 / 405));
}

TEST_CASE(
    "choices of one density: on, between and beyond measurements, whatever k where none has a density") {
  Device device = one_tera_of_products();
  device.selection_times = {{1024, {}, 1e-6}, {1048576, {}, 1e-3}};
  CHECK(select_s(device, {.k = 1, .n = 1024}) == exactly(1e-6));
  CHECK(select_s(device, {.k = 700, .n = 1024}) == exactly(1e-6));
  CHECK(select_s(device, {.k = 1, .n = 1048576}) == exactly(1e-3));
  CHECK(select_s(device, {.k = 1, .n = 32768}) == exactly(std::sqrt(1e-9)));
  CHECK(is_measured(device, SelectSize{.k = 1, .n = 32768}));
  // Beyond by n log2 n: 2^21 x 21 over 2^20 x 20; 2^9 x 9 over 2^10 x 10.
  CHECK(select_s(device, {.k = 1, .n = 2097152}) == exactly(2.1e-3));
  CHECK(select_s(device, {.k = 1, .n = 512}) == exactly(0.45e-6));
  CHECK(select_s(device, {.k = 1, .n = 1}) == 0);
  CHECK(beyond_table(device, SelectSize{.k = 1, .n = 32768}) == "");
  CHECK(
      beyond_table(device, SelectSize{.k = 1, .n = 512}) ==
      "choices of the top k of sizes beyond those in \"selection_times\" of device D are scaled from its nearest edge");
}

TEST_CASE("between two densities a choice takes a mean of both on logarithmic scales") {
  Device device = one_tera_of_products();
  device.selection_times = {
      {1000, 0.001, 1e-6}, {100000, 0.001, 1e-4}, {1000, 0.1, 4e-6}, {100000, 0.1, 9e-4}};
  CHECK(select_s(device, {.k = 1, .n = 1000}) == exactly(1e-6));
  CHECK(select_s(device, {.k = 100, .n = 1000}) == exactly(4e-6));
  CHECK(select_s(device, {.k = 10, .n = 1000}) == exactly(2e-6));      // half way: sqrt(1 x 4)
  CHECK(select_s(device, {.k = 1000, .n = 100000}) == exactly(3e-4));  // sqrt(1 x 9)
  CHECK(select_s(device, {.k = 500, .n = 1000}) == exactly(4e-6));     // denser than all
  CHECK(is_measured(device, SelectSize{.k = 10, .n = 1000}));
  CHECK(!is_measured(device, SelectSize{.k = 500, .n = 1000}));
  CHECK(!is_measured(device, SelectSize{.k = 10, .n = 999}));
  double before = 0;
  for (double k = 10; k <= 1000; k *= 1.1) {
    CHECK(select_s(device, {.k = k, .n = 10000}) >= before);
    before = select_s(device, {.k = k, .n = 10000});
  }
}

TEST_CASE("a table known, an efficiency and a constant need not be") {
  Device device;
  CHECK(unknown_costs(device, DeviceKernel::select).size() == 1);
  device.gemm.times = {{1, 1, 1, 1e-6}};
  device.selection_times = {{2, {}, 1e-6}};
  CHECK(unknown_costs(device, DeviceKernel::gemm).empty());
  CHECK(unknown_costs(device, DeviceKernel::select).empty());
  const auto kernels = describe_kernels(device);
  CHECK(kernels[0].law == "table of 1 measured time, by shape and FLOPs");
  CHECK(kernels[2].law == "table of 1 measured time, by density and n");
}

}  // namespace simsgd::test::cluster_kernels
