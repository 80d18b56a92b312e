#include "analysis/replay/replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace simsgd::replay {

Times recorded_times(const Graph& graph, bool gaps) {
  Times times;
  times.duration_s.reserve(graph.operations.size());
  for (const Operation& each : graph.operations) times.duration_s.push_back(each.duration_s);
  if (!gaps) return times;
  times.gap_s.reserve(graph.operations.size());
  for (const Operation& each : graph.operations) times.gap_s.push_back(each.gap_s);
  return times;
}

void play(const Graph& graph, const Times& times, Played& played) {
  const bool gaps = !times.gap_s.empty();
  played.launch_s.resize(graph.operations.size());
  played.end_s.resize(graph.operations.size());
  played.step_s.assign(graph.steps.size(), 0.0);
  for (std::size_t s = 0; s < graph.steps.size(); ++s)
    for (std::size_t group = graph.steps[s].first_group; group < graph.steps[s].end_group; ++group) {
      const std::size_t begin = graph.group_begin[group], end = graph.group_begin[group + 1];
      double go_s = -INFINITY;
      for (std::size_t o = begin; o < end; ++o) {
        double ready_s = 0;
        for (std::size_t d = graph.dependency_begin[o]; d < graph.dependency_begin[o + 1]; ++d)
          ready_s = std::max(ready_s, played.end_s[graph.dependencies[d]]);
        played.launch_s[o] = ready_s + (gaps ? times.gap_s[o] : 0);
        go_s = std::max(go_s, played.launch_s[o]);
      }
      for (std::size_t o = begin; o < end; ++o) {
        played.end_s[o] = go_s + times.duration_s[o];
        played.step_s[s] = std::max(played.step_s[s], played.end_s[o]);
      }
    }
}

Played play(const Graph& graph, const Times& times) {
  Played played;
  play(graph, times, played);
  return played;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace simsgd::replay
