// NCCL's kernels as they are called, of all versions.
//   https://github.com/NVIDIA/nccl, src/device/generate.py: ncclDevKernel_AllReduce_Sum_f32_RING_LL;
//   until 2.18 ncclKernel_AllReduce_RING_LL_Sum_float; until 2.6 ncclAllReduceRingLLKernel_sum_f32; as
//   PyTorch calls the operation, nccl:all_reduce
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace simsgd {

/// What a kernel's name tells; empty where it does not.
struct NcclKernelName {
  std::string operation, algorithm, protocol, type;
};

/// None where it is no kernel of NCCL's. "void " may stand before the name, and arguments behind.
std::optional<NcclKernelName> nccl_kernel_name(std::string_view name);

}  // namespace simsgd
