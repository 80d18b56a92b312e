// What other programs call operations, types, kernels and steps.
//   https://github.com/pytorch/pytorch, torch/csrc/distributed/c10d (ParamCommsUtils.hpp,
//   ProcessGroupNCCL.cpp) https://github.com/NVIDIA/nccl, src/device/generate.py:
//   ncclDevKernel_AllReduce_Sum_f32_RING_LL; until 2.18 ncclKernel_AllReduce_RING_LL_Sum_float; until 2.6
//   ncclAllReduceRingLLKernel_sum_f32
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/imported_file.hpp"

namespace simsgd {

/// Our name of an operation: "all_reduce" for "AllReduce", "all_reduce_perf", "Allreduce"; "" where it is
/// none.
std::string operation_from(std::string_view name);

/// The same of a program of nccl-tests in a line, "./all_reduce_perf -b 8"; "" where there is none.
std::string operation_of_program(std::string_view line);

/// Bandwidths that a table of nccl-tests prints beside its times, with two decimals, of times with four
/// digits.
class PrintedBandwidths {
 public:
  /// `unit_Bps`: that both are printed in. Counts an algbw that size / time contradicts.
  void see(const Measurement& row, double unit_Bps, double algbw, double busbw, ImportedFile& file);
  /// Rows from `first` on that do not tell their operation have the one that busbw / algbw shows.
  void settle_operation(std::size_t first, ImportedFile& file);

 private:
  /// Only an all-reduce of at least 3 ranks has a ratio above 1. Of operations that add up (`redop`) without
  /// a root there are two, all-reduce and reduce-scatter, whose ratios differ from 2 ranks on. "": it may be
  /// another one too.
  std::string shown_operation(const Measurement& row) const;
  double best_algbw_ = 0, best_busbw_ = 0;
};

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
  std::string operation, algorithm, protocol, type;
};

/// None where it is not a kernel of NCCL's. "void " may stand before the name, and arguments behind.
std::optional<NcclKernelName> nccl_kernel_name(std::string_view name);

/// The rank that a file is of, by its name: the number after the last "rank" ("trace_rank_3.json"), else the
/// one at its end ("job.3.et.gz", "host_3.json"); -1 where there is none.
int rank_in_file_name(std::string_view name);

/// A range around one training step: "step 12", "Iteration_12", "ProfilerStep#12", "train_step".
struct StepName {
  std::optional<std::uint64_t> number;  ///< none: it is counted
};
std::optional<StepName> step_name(std::string_view text);

/// Bytes that the text of a range about NCCL tells, "ncclAllReduce, 4096 bytes" or "nccl:all_reduce
/// bytes=4096".
std::optional<double> nccl_bytes(std::string_view text);

}  // namespace simsgd
