#include "sim/cluster/device.hpp"

#include <fmt/format.h>

#include "sim/base/units.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd {

namespace {

/// Numbers that an fp32 vector's pass reads and writes, per entry: 4 bytes each.
constexpr double kCopyPasses = 2;        // read, write
constexpr double kAccumulatePasses = 5;  // copy into one vector; read it and the other, write the sum
constexpr double kBytesPerEntry = 4;

/// What a kernel takes per byte of a vector that it passes over so often; unknown where its rate is.
Cost passes_s_per_byte(const Device& device, double passes) {
  return device.vector_pass.efficiency.known() && device.memory_Bps > 0 ? Cost(passes / device.vector_Bps())
                                                                        : Cost();
}

}  // namespace

void Device::complete() {
  if (!accumulate_s.known()) accumulate_s = passes_s_per_byte(*this, kAccumulatePasses * kBytesPerEntry);
}

void HostCosts::complete(const Device& device) {
  if (!pack_s_per_byte.known()) pack_s_per_byte = passes_s_per_byte(device, kCopyPasses);
  if (!scale_s_per_byte.known()) scale_s_per_byte = passes_s_per_byte(device, kCopyPasses);
  if (!staging_Bps.known() && staged) staging_Bps = *staged ? device.copy_Bps : Cost(0);
}

// Kernels for people: laws with a device's numbers, and a few sizes.

namespace {

using Samples = std::vector<std::pair<std::string, double>>;

std::string rate_text(double flops) {
  return flops >= 1e12 ? human_number(flops / 1e12) + " TFLOP/s" : human_number(flops / 1e9) + " GFLOP/s";
}

/// What a cost adds, in words.
std::string time_text(const Cost& cost) { return cost.known() ? human_time(cost) : "an unknown time"; }

std::string flop_text(const Device& device, const std::string& flop, const Cost& efficiency) {
  if (!(device.peak_flops > 0)) return "no time: peak_flops is unknown";
  return fmt::format("{} FLOPs at {} x {:g}", flop, rate_text(device.peak_flops),
                     efficiency.value_or(device.efficiency));
}

std::string pass_text(const Device& device, const std::string& bytes) {
  if (!(device.memory_Bps > 0)) return "no time: memory_bandwidth is unknown";
  return fmt::format("{} at {}/s x {:g}", bytes, human_bytes(device.memory_Bps),
                     device.vector_pass.efficiency.value_or(1));
}

std::string count_text(std::size_t times) {
  return fmt::format("table of {} measured time{}", times, times == 1 ? "" : "s");
}

std::string gemm_text(const Device& device) {
  if (!device.gemm.times.empty()) return count_text(device.gemm.times.size()) + ", by shape and FLOPs";
  const std::string what =
      device.gemm.tile ? fmt::format("2 m n k, m and n in tiles of {},", *device.gemm.tile) : "2 m n k";
  const std::string law = flop_text(device, what, device.gemm.efficiency);
  if (!device.gemm.memory_bound) return law;
  return fmt::format("{}, or {}, and {}", law, pass_text(device, "4 (m k + k n + m n) bytes"),
                     time_text(device.launch_s));
}

template <class Table>
std::string table_text(const Table& times, const Cost& overhead) {
  return count_text(times.size()) + ", and " + time_text(overhead);
}

KernelDescription gemm(const Device& device) {
  Samples samples;
  for (const double size : {256.0, 1024.0, 4096.0})
    samples.emplace_back(fmt::format("m = n = k = {}", size),
                         gemm_s(device, {.m = size, .n = size, .k = size}));
  return {DeviceKernel::gemm, "gemm", gemm_text(device), samples};
}

KernelDescription vector_pass(const Device& device) {
  Samples samples;
  for (const double bytes : {1e6, 100e6})
    samples.emplace_back(human_bytes(bytes) + " read, as many written",
                         vector_pass_s(device, {.read = bytes, .written = bytes}));
  return {DeviceKernel::vector_pass, "vector_pass", pass_text(device, "bytes read and written"), samples};
}

KernelDescription select(const Device& device) {
  Samples samples;
  for (const double n : {1e6, 25e6})
    samples.emplace_back(fmt::format("k of n = {}", human_number(n)),
                         select_s(device, {.k = n / 1000, .n = n}));
  const std::string law = !device.selection_times.empty()
                              ? count_text(device.selection_times.size()) + ", by density and n"
                          : device.selection_s.known() ? human_time(device.selection_s) + " n log2 n"
                                                       : "no time: selection is unknown";
  return {DeviceKernel::select, "select", law, samples};
}

KernelDescription invert(const Device& device) {
  Samples samples;
  for (const double n : {256.0, 1024.0, 4096.0})
    samples.emplace_back(fmt::format("n = {}", n), invert_s(device, n));
  const std::string law = device.inverse.times.empty()
                              ? flop_text(device, "n^3", Cost(device.efficiency)) + ", and " +
                                    time_text(device.inverse.overhead_s)
                              : table_text(device.inverse.times, device.inverse.overhead_s);
  return {DeviceKernel::invert, "invert", law, samples};
}

KernelDescription qr(const Device& device) {
  Samples samples;
  for (const QrSize& size : {QrSize{.m = 1024, .n = 4}, {.m = 4096, .n = 32}, {.m = 1024, .n = 1024}})
    samples.emplace_back(fmt::format("m = {}, n = {}", size.m, size.n), qr_s(device, size));
  const std::string law = device.qr.times.empty()
                              ? fmt::format("{}, {} a column, and {}",
                                            flop_text(device, "2 m n^2 - 2/3 n^3", device.gemm.efficiency),
                                            time_text(device.qr.column_s), time_text(device.qr.overhead_s))
                              : table_text(device.qr.times, device.qr.overhead_s);
  return {DeviceKernel::qr, "qr", law, samples};
}

KernelDescription quantise(const Device& device) {
  Samples samples;
  for (const double bits : {8.0, 4.0})
    samples.emplace_back(fmt::format("25,000,000 numbers, {} bits", bits),
                         quantise_s(device, {.numbers = 25e6, .bits = bits}));
  const std::string law = device.quantise_s.known() ? human_time(device.quantise_s) + " a number"
                                                    : pass_text(device, "4 + bits/8 bytes a number");
  return {DeviceKernel::quantise, "quantise", law, samples};
}

KernelDescription accumulate(const Device& device) {
  const std::string law = device.accumulate_s.known() ? human_time(device.accumulate_s) + " a number"
                                                      : "no time: accumulate is unknown";
  return {DeviceKernel::accumulate, "accumulate", law, {{"25,000,000 numbers", accumulate_s(device, 25e6)}}};
}

}  // namespace

std::vector<KernelDescription> describe_kernels(const Device& device) {
  return {gemm(device), vector_pass(device), select(device),    invert(device),
          qr(device),   quantise(device),    accumulate(device)};
}

}  // namespace simsgd
