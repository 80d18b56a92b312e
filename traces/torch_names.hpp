// Collectives, types and NCCL kernels as PyTorch and NCCL call them.
//   https://github.com/pytorch/pytorch, torch/csrc/distributed/c10d (ParamCommsUtils.hpp,
//   ProcessGroupNCCL.cpp) https://github.com/NVIDIA/nccl, src/device/generate.py:
//   ncclDevKernel_AllReduce_Sum_f32_RING_LL
#pragma once

#include <string>
#include <string_view>

namespace simsgd {

/// Our name of an operation: "all_gather" for "_allgather_base", "nccl:all_gather"; messages are
/// "send_receive"; "" where it is none.
std::string torch_operation(std::string_view name);

/// Bytes of one element: 2 for "BFloat16", "c10::Half", "float16"; 0 where the type is not known.
int type_bytes(std::string_view name);
/// In small letters, without "c10::" and "torch.": "Float" and "float32" are "float".
std::string type_name(std::string_view name);

/// The whole array, in elements, of what each rank gives and gets.
double whole_array(std::string_view operation, double in_elements, double out_elements);

/// What a kernel's name tells; empty where it does not.
struct NcclKernelName {
  std::string operation, algorithm, protocol;
};
bool is_nccl_kernel(std::string_view name);
NcclKernelName nccl_kernel_name(std::string_view name);

}  // namespace simsgd
