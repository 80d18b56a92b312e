// Operators of PyTorch that have parameters, and where their sizes stand among the inputs ("Input Dims").
//   https://github.com/pytorch/pytorch, aten/src/ATen/native/native_functions.yaml
#pragma once

#include <optional>

#include "traces/recorders/kineto_recording.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd::kineto {

/// The layer that the operator is, none where it is another operator or its inputs' sizes are not those of
/// one.
std::optional<LayerKind> layer_of(const TraceEvent& event);

}  // namespace simsgd::kineto
