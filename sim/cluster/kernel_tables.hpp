// Tables of measured kernels: times between measurements, and beyond them. kernels.hpp says how.
#pragma once

#include <vector>

#include "sim/cluster/kernels.hpp"

namespace simsgd {

/// A measured time: at `x` of whatever the table is ascending in.
struct MeasuredTime {
  double x = 0;
  double seconds = 0;
};

/// Through the two points around `x`, or the two nearest, on logarithmic scales; a single one holds for all.
double interpolated_s(const std::vector<MeasuredTime>& table, double x);

/// Without a table.
double gemm_law_s(const Device& device, const GemmSize& size);
/// With one.
double table_gemm_s(const Device& device, const GemmSize& size);
double table_select_s(const Device& device, const SelectSize& size);

}  // namespace simsgd
