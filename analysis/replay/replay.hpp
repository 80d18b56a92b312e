// The recurrence over a graph of operations: when each ends, given how long each takes and what passes before
// it begins.
#pragma once

#include <vector>

#include "analysis/replay/graph.hpp"

namespace simsgd::replay {

/// By operation, as Graph::operations.
struct Times {
  std::vector<double> duration_s;  ///< see Graph: of a collective, from its last starter's launch on
  std::vector<double> gap_s;       ///< empty: none
};

struct Played {
  std::vector<double> launch_s, end_s;  ///< by operation, from the begin of its step
  std::vector<double> step_s;           ///< by step: from its begin to its last end
};

/// As recorded; `gaps`: or without any.
Times recorded_times(const Graph& graph, bool gaps);

void play(const Graph& graph, const Times& times, Played& played);
Played play(const Graph& graph, const Times& times);

double mean(const std::vector<double>& values);

}  // namespace simsgd::replay
