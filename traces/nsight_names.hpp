// What names in a GPU profile tell: NCCL's kernels, ranges that are training steps, sizes in texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simsgd {

/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", or as older versions wrote it
/// "ncclKernel_AllReduce_RING_LL_Sum_float": what of it is known, else empty.
struct NcclKernelName {
  std::string operation, algorithm, protocol, type;
};

/// None where it is no kernel of NCCL's.
std::optional<NcclKernelName> nccl_kernel_name(std::string_view name);

/// A range around one training step: "step 12", "Iteration_12", "ProfilerStep#12", "train_step".
struct StepName {
  std::optional<std::uint64_t> number;  ///< none: it is counted
};
std::optional<StepName> step_name(std::string_view text);

/// Bytes that the text of a range about NCCL tells, "ncclAllReduce, 4096 bytes" or "nccl:all_reduce
/// bytes=4096".
std::optional<double> nccl_bytes(std::string_view text);

}  // namespace simsgd
