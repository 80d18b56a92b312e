// What names in a GPU profile tell: ranges that are training steps, sizes in texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace simsgd {

/// A range around one training step: "step 12", "Iteration_12", "ProfilerStep#12", "train_step".
struct StepName {
  std::optional<std::uint64_t> number;  ///< none: it is counted
};
std::optional<StepName> step_name(std::string_view text);

/// Bytes that the text of a range about NCCL tells, "ncclAllReduce, 4096 bytes" or "nccl:all_reduce
/// bytes=4096".
std::optional<double> nccl_bytes(std::string_view text);

}  // namespace simsgd
