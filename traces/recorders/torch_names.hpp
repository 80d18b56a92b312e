// Collectives and types as PyTorch calls them.
//   https://github.com/pytorch/pytorch, torch/csrc/distributed/c10d (ParamCommsUtils.hpp,
//   ProcessGroupNCCL.cpp)
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

}  // namespace simsgd
