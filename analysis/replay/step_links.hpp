// What the operations of one step wait for: their lanes, what they need on their worker, messages between
// stages; and who takes part in an operation together.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "analysis/replay/graph.hpp"

namespace simsgd::replay {

/// The kind that stands for what holds workers together before operations of `kind`.
std::string unrecorded_before(const std::string& kind);

struct StepLinks {
  std::vector<Operation> operations;                       ///< as in the job; then what synchronisations add
  std::vector<std::pair<std::size_t, std::size_t>> waits;  ///< of an operation for another: {for, who}
  std::vector<std::size_t> groups;                         ///< of each operation: the first of its group
};

/// `graph` has everything but operations and steps; warnings are counted in it.
StepLinks link_step(const RecordedJob& job, std::size_t begin, std::size_t end, double start_s, Graph& graph);

}  // namespace simsgd::replay
