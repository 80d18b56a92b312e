// Tables of measured kernels: times between measurements, and beyond them. kernels.hpp says how.
#pragma once

#include "sim/cluster/kernels.hpp"

namespace simsgd {

/// Without a table.
double gemm_law_s(const Device& device, const GemmSize& size);
/// With one.
double table_gemm_s(const Device& device, const GemmSize& size);
double table_select_s(const Device& device, const SelectSize& size);

}  // namespace simsgd
