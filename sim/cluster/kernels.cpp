#include "sim/cluster/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/log_interpolation.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

// Tables of measured kernels: times between measurements, and beyond them. kernels.hpp says how.

// A size inside a table's range may miss it by rounding.
constexpr double kRounding = 1e-9;

struct Range {
  double least = std::numeric_limits<double>::infinity(), most = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  double nearest(double value) const { return std::clamp(value, least, most); }
  bool has(double value) const { return value >= least * (1 - kRounding) && value <= most * (1 + kRounding); }
};

// Products
// ---------------------------------------------------------------------------------------------------------

double flop_of(const GemmSize& size) { return 2 * size.m * size.n * size.k; }

/// The product or its transpose: the one that is not wider than high.
GemmSize upright(const GemmSize& size) {
  return {.m = std::max(size.m, size.n), .n = std::min(size.m, size.n), .k = size.k};
}

GemmSize size_of(const GemmKernel::Time& time) {
  return upright(
      {.m = static_cast<double>(time.m), .n = static_cast<double>(time.n), .k = static_cast<double>(time.k)});
}

struct GemmRange {
  Range m, n, k, flop;

  explicit GemmRange(const std::vector<GemmKernel::Time>& times) {
    for (const GemmKernel::Time& time : times) {
      const GemmSize size = size_of(time);
      m.add(size.m);
      n.add(size.n);
      k.add(size.k);
      flop.add(flop_of(size));
    }
  }
  bool has(const GemmSize& size) const {
    return m.has(size.m) && n.has(size.n) && k.has(size.k) && flop.has(flop_of(size));
  }
  GemmSize nearest(const GemmSize& size) const {
    return {.m = m.nearest(size.m), .n = n.nearest(size.n), .k = k.nearest(size.k)};
  }
};

double squared_distance(const GemmSize& a, const GemmSize& b) {
  const double m = std::log(a.m / b.m), n = std::log(a.n / b.n), k = std::log(a.k / b.k);
  return m * m + n * n + k * k;
}

/// The nearest shape of those that have no more FLOPs than `size`, or no fewer; the first of equally near
/// ones.
class NearestShape {
 public:
  explicit NearestShape(const GemmSize& size) : size_(size) {}

  void look_at(const GemmKernel::Time& time) {
    const double distance = squared_distance(size_of(time), size_);
    if (time_ != nullptr && distance >= distance_) return;
    time_ = &time;
    distance_ = distance;
  }
  const GemmKernel::Time* time() const { return time_; }

 private:
  GemmSize size_;
  const GemmKernel::Time* time_ = nullptr;
  double distance_ = 0;
};

double flops_rate(const GemmKernel::Time& time) { return flop_of(size_of(time)) / time.seconds; }

/// FLOPs per second at a size inside the box of the table's m, n and k. At a corner of the box that has fewer
/// or more FLOPs than all entries the rate is that of the nearest shape.
double measured_rate(const std::vector<GemmKernel::Time>& times, const GemmSize& size) {
  const double flop = flop_of(size);
  NearestShape nearest_fewer(size), nearest_more(size);
  for (const GemmKernel::Time& time : times) {
    const double measured = flop_of(size_of(time));
    if (measured <= flop * (1 + kRounding)) nearest_fewer.look_at(time);
    if (measured >= flop * (1 - kRounding)) nearest_more.look_at(time);
  }
  const GemmKernel::Time* fewer = nearest_fewer.time();
  const GemmKernel::Time* more = nearest_more.time();
  if (fewer == nullptr || more == nullptr) return flops_rate(fewer == nullptr ? *more : *fewer);
  const double from = flop_of(size_of(*fewer)), to = flop_of(size_of(*more));
  // Of equal FLOPs the nearer shape decides.
  if (to <= from * (1 + kRounding))
    return flops_rate(
        squared_distance(size_of(*fewer), size) <= squared_distance(size_of(*more), size) ? *fewer : *more);
  return log_between({from, flops_rate(*fewer)}, {to, flops_rate(*more)}, std::clamp(flop, from, to));
}

// Selection
// ---------------------------------------------------------------------------------------------------------

double selection_law(double entries) { return entries * std::log2(entries); }

/// Measurements of one density, by ascending entries.
struct DensityTimes {
  double density = 1;  // whatever it is, where the table has none
  std::vector<LogPoint> times;

  Range range() const {
    Range all;
    for (const LogPoint& time : times) all.add(time.x);
    return all;
  }
  double seconds(double entries) const {
    const double inside = range().nearest(entries);
    return *log_interpolated(times, inside, Outside::continued) * selection_law(entries) /
           selection_law(inside);
  }
};

std::vector<DensityTimes> by_density(const std::vector<SelectionTime>& times) {
  std::vector<DensityTimes> all;
  for (const SelectionTime& time : times) {
    const double density = time.density.value_or(1);
    if (all.empty() || all.back().density != density) all.push_back({density, {}});
    all.back().times.push_back({static_cast<double>(time.entries), time.seconds});
  }
  return all;
}

bool has_densities(const Device& device) { return device.selection_times.front().density.has_value(); }

/// The densities around `density`, or twice the nearest one.
std::pair<const DensityTimes*, const DensityTimes*> around(const std::vector<DensityTimes>& all,
                                                           double density) {
  const auto above = std::find_if(all.begin(), all.end(), [density](const DensityTimes& each) {
    return density <= each.density * (1 + kRounding);
  });
  if (above == all.end()) return {&all.back(), &all.back()};
  const bool on_it = density >= above->density * (1 - kRounding);
  return {above == all.begin() || on_it ? &*above : &*(above - 1), &*above};
}

std::string beyond(const Device& device, const char* what, const char* key) {
  return fmt::format("{} of sizes beyond those in \"{}\" of device {} are scaled from its nearest edge", what,
                     key, device.name);
}

double flop_s(const Device& device, double flop, double efficiency) {
  return device.peak_flops > 0 ? flop / (device.peak_flops * efficiency) : 0;
}

/// `entries` as the tiles that hold them compute it.
double in_tiles(const GemmKernel& gemm, double entries) {
  return gemm.tile ? std::ceil(entries / *gemm.tile) * *gemm.tile : entries;
}

/// Without a table.
double gemm_law_s(const Device& device, const GemmSize& size) {
  const double m = in_tiles(device.gemm, size.m), n = in_tiles(device.gemm, size.n);
  const double compute_s =
      flop_s(device, 2 * m * n * size.k, device.gemm.efficiency.value_or(device.efficiency));
  if (!device.gemm.memory_bound) return compute_s;
  const double read = kBytesPerNumber * (size.m * size.k + size.k * size.n);
  const double pass_s = vector_pass_s(device, {.read = read, .written = kBytesPerNumber * size.m * size.n});
  return std::max(compute_s, pass_s) + device.launch_s;
}

/// With one.
double table_gemm_s(const Device& device, const GemmSize& asked) {
  const GemmSize size = upright(asked);
  if (!(flop_of(size) > 0)) return 0;
  const GemmSize inside = GemmRange(device.gemm.times).nearest(size);
  const double inside_s = flop_of(inside) / measured_rate(device.gemm.times, inside);
  const double law_s = gemm_law_s(device, inside);
  return inside_s * (law_s > 0 ? gemm_law_s(device, size) / law_s : flop_of(size) / flop_of(inside));
}

double table_select_s(const Device& device, const SelectSize& size) {
  const std::vector<DensityTimes> all = by_density(device.selection_times);
  const double density = has_densities(device) ? size.k / size.n : all.front().density;
  const auto [low, high] = around(all, density);
  const double low_s = low->seconds(size.n);
  if (low == high) return low_s;
  return log_between({low->density, low_s}, {high->density, high->seconds(size.n)}, density);
}

void check_gemm_times(const std::vector<GemmKernel::Time>& times) {
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (flop_of(size_of(times[i])) < flop_of(size_of(times[i - 1])))
      reject(fmt::format("gemm/times/{}", i), "takes fewer FLOPs than the one before it",
             "Sort the measurements by 2 m n k, in ascending order");
    for (std::size_t before = 0; before < i; ++before)
      if (squared_distance(size_of(times[before]), size_of(times[i])) == 0)
        reject(fmt::format("gemm/times/{}", i), fmt::format("has the size of entry {}", before),
               "Keep one of the two, or their median; a product takes as long as its transpose");
  }
}

void check_selection_times(const std::vector<SelectionTime>& times) {
  for (std::size_t i = 1; i < times.size(); ++i) {
    const SelectionTime &time = times[i], &before = times[i - 1];
    if (time.density.has_value() != before.density.has_value())
      reject(fmt::format("selection_times/{}", i),
             time.density ? "has a density, unlike the one before it" : "lacks the density that others have",
             "Give \"density\" in all measurements or in none");
    const double density = time.density.value_or(1), density_before = before.density.value_or(1);
    if (density < density_before || (density == density_before && time.entries <= before.entries))
      reject(fmt::format("selection_times/{}", i), "does not follow the one before it",
             "Sort the measurements by density, and by entries within a density, in ascending order");
  }
}

}  // namespace

bool is_measured(const Device& device, const GemmSize& size) {
  return !device.gemm.times.empty() && GemmRange(device.gemm.times).has(upright(size));
}

std::string beyond_table(const Device& device, const GemmSize& size) {
  if (device.gemm.times.empty() || !(flop_of(size) > 0) || is_measured(device, size)) return "";
  return beyond(device, "products of matrices", "gemm.times");
}

bool is_measured(const Device& device, const SelectSize& size) {
  if (device.selection_times.empty()) return false;
  const std::vector<DensityTimes> all = by_density(device.selection_times);
  Range densities;
  for (const DensityTimes& each : all) densities.add(each.density);
  const double density = has_densities(device) ? size.k / size.n : all.front().density;
  const auto [low, high] = around(all, density);
  return densities.has(density) && low->range().has(size.n) && high->range().has(size.n);
}

std::string beyond_table(const Device& device, const SelectSize& size) {
  if (device.selection_times.empty() || !(size.n > 1) || is_measured(device, size)) return "";
  return beyond(device, "choices of the top k", "selection_times");
}

void check_tables(const Device& device) {
  check_gemm_times(device.gemm.times);
  check_selection_times(device.selection_times);
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
