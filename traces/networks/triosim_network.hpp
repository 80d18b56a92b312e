// The network of a TrioSim trace: a layer for each forward operator, to which the backward operators are put.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/imported_file.hpp"

namespace simsgd {

enum class TracedStage : std::uint8_t { forward, backward, optimizer };

struct TracedOperator {
  std::string id, kind;
  TracedStage stage = TracedStage::forward;
  std::vector<std::uint32_t> tensors;  ///< that it reads
  double time_s = 0;
  double outputs = kNotGiven;  ///< entries
};

struct OperatorTrace {
  ImportedFile* file = nullptr;
  std::vector<TracedOperator> operators;     ///< in the order in which they ran
  std::array<double, 3> all_s{}, alone_s{};  ///< by stage: with and without overlap
};

struct TensorTable {
  ImportedFile* file = nullptr;
  std::unordered_map<std::uint32_t, std::vector<double>> parameters;  ///< shapes by id
  int batch = 0;                                                      ///< the first side of the first input
};

/// Without what frameworks put around it: "aten::batch_norm" and "...: CudnnBatchNormBackward0" are
/// "batchnorm".
std::string operator_kind(std::string_view name);

/// Its source says how operators were grouped. No layer where no operator is of the forward pass.
RecordedWorkload traced_network(const OperatorTrace& trace, const TensorTable& tensors);

}  // namespace simsgd
