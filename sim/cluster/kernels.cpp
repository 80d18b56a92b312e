#include "sim/cluster/kernels.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/log_interpolation.hpp"
#include "sim/base/units.hpp"
#include "sim/cluster/kernel_tables.hpp"

namespace simsgd {

namespace {

double flop_s(const Device& device, double flop, double efficiency) {
  return device.peak_flops > 0 ? flop / (device.peak_flops * efficiency) : 0;
}

/// `entries` as the tiles that hold them compute it.
double in_tiles(const GemmKernel& gemm, double entries) {
  return gemm.tile ? std::ceil(entries / *gemm.tile) * *gemm.tile : entries;
}

}  // namespace

double gemm_law_s(const Device& device, const GemmSize& size) {
  const double m = in_tiles(device.gemm, size.m), n = in_tiles(device.gemm, size.n);
  const double compute_s =
      flop_s(device, 2 * m * n * size.k, device.gemm.efficiency.value_or(device.efficiency));
  if (!device.gemm.memory_bound) return compute_s;
  const double read = kBytesPerNumber * (size.m * size.k + size.k * size.n);
  const double pass_s = vector_pass_s(device, {.read = read, .written = kBytesPerNumber * size.m * size.n});
  return std::max(compute_s, pass_s) + device.launch_s;
}

double gemm_s(const Device& device, const GemmSize& size) {
  return device.gemm.times.empty() ? gemm_law_s(device, size) : table_gemm_s(device, size);
}

double vector_pass_s(const Device& device, const PassBytes& bytes) {
  const double rate_Bps = device.vector_Bps();
  return rate_Bps > 0 ? (bytes.read + bytes.written) / rate_Bps : 0;
}

double select_s(const Device& device, const SelectSize& size) {
  if (!(size.n > 1)) return 0;
  return device.selection_times.empty() ? device.selection_s * size.n * std::log2(size.n)
                                        : table_select_s(device, size);
}

double invert_s(const Device& device, double n) {
  if (device.inverse.times.empty())
    return flop_s(device, n * n * n, device.efficiency) + device.inverse.overhead_s;
  std::vector<LogPoint> table;
  for (const InverseKernel::Time& time : device.inverse.times)
    table.push_back({static_cast<double>(time.dimension), time.seconds});
  return *log_interpolated(table, n, Outside::continued) + device.inverse.overhead_s;
}

double qr_flop(const QrSize& size) {
  const double m = std::max(size.m, size.n), n = std::min(size.m, size.n);
  return 2 * m * n * n - 2.0 / 3 * n * n * n;
}

double qr_s(const Device& device, const QrSize& size) {
  if (device.qr.times.empty())
    return flop_s(device, qr_flop(size), device.gemm.efficiency.value_or(device.efficiency)) +
           std::min(size.m, size.n) * device.qr.column_s + device.qr.overhead_s;
  std::vector<LogPoint> table;
  for (const QrKernel::Time& time : device.qr.times)
    table.push_back({qr_flop({.m = static_cast<double>(time.rows), .n = static_cast<double>(time.columns)}),
                     time.seconds});
  return *log_interpolated(table, qr_flop(size), Outside::continued) + device.qr.overhead_s;
}

double quantise_s(const Device& device, const QuantiseSize& size) {
  if (device.quantise_s.known()) return device.quantise_s * size.numbers;
  return vector_pass_s(device,
                       {.read = kBytesPerNumber * size.numbers, .written = size.bits / 8 * size.numbers});
}

double accumulate_s(const Device& device, double numbers) { return numbers * device.accumulate_s; }

std::vector<UnknownCost> unknown_costs(const Device& device, DeviceKernel kernel) {
  std::vector<UnknownCost> all;
  const auto need = [&all](bool known, const char* key, const char* instead) {
    if (!known) all.push_back({key, instead});
  };
  const auto need_pass = [&] {
    need(device.vector_pass.efficiency.known(), "vector_pass",
         device.memory_Bps > 0 ? "a pass over a vector runs at the peak of the memory"
                               : "a pass over a vector takes no time");
  };
  const auto need_gemm = [&] {
    need(device.gemm.efficiency.known(), "gemm.efficiency",
         "products of matrices run at the efficiency of training kernels");
  };
  switch (kernel) {
    case DeviceKernel::gemm:
      if (device.gemm.times.empty()) need_gemm();
      if (device.gemm.times.empty() && device.gemm.memory_bound) {
        need_pass();
        need(device.launch_s.known(), "launch", "launching a product takes no time");
      }
      break;
    case DeviceKernel::vector_pass:
      need_pass();
      break;
    case DeviceKernel::select:
      need(device.selection_s.known() || !device.selection_times.empty(), "selection",
           "choosing the top k takes no time");
      break;
    case DeviceKernel::invert:
      need(!device.inverse.times.empty(), "inverse.times",
           "inverses are timed by FLOPs at the efficiency of training kernels");
      need(device.inverse.overhead_s.known(), "inverse.overhead", "an inverse takes its kernel's time alone");
      break;
    case DeviceKernel::qr:
      if (device.qr.times.empty()) {
        need_gemm();
        need(device.qr.column_s.known(), "qr.column",
             "the steps of a QR factorisation take their FLOPs alone");
      }
      need(device.qr.overhead_s.known(), "qr.overhead", "a QR factorisation takes its kernel's time alone");
      break;
    case DeviceKernel::quantise:
      if (!device.quantise_s.known()) need_pass();
      break;
    case DeviceKernel::accumulate:
      need(device.accumulate_s.known(), "accumulate", "adding a vector to gathered tensors takes no time");
      break;
  }
  return all;
}

}  // namespace simsgd
