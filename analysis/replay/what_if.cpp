#include "analysis/replay/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/errors.hpp"

namespace simsgd::replay {

namespace {

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// What makes two operations the same work on different replicas.
using Work = std::tuple<std::size_t, std::int32_t, int, int, std::int32_t, std::int32_t, std::int32_t>;

Work work_of(const Graph& graph, std::size_t step, const Operation& each) {
  const RecordedPlace& place = graph.workers[static_cast<std::size_t>(each.worker)];
  return {step, each.kind, place.stage, place.tensor, each.micro_batch, each.chunk, each.occurrence};
}

struct Peers {
  double duration_s = 0, gap_s = 0;
  int count = 0;
};

void check_workers(const Graph& graph, const std::vector<int>& workers, const std::string& option) {
  std::vector<InputError> errors;
  for (const int worker : workers) {
    if (worker < 0 || worker >= static_cast<int>(graph.workers.size())) {
      errors.push_back({option, "", "names no worker of the job", fmt::format("{}", worker),
                        fmt::format("Name one from 0 to {}", graph.workers.size() - 1)});
      continue;
    }
    const RecordedPlace& place = graph.workers[static_cast<std::size_t>(worker)];
    int healthy = 0;
    for (std::size_t w = 0; w < graph.workers.size(); ++w)
      healthy += graph.workers[w].stage == place.stage && graph.workers[w].tensor == place.tensor &&
                         std::find(workers.begin(), workers.end(), static_cast<int>(w)) == workers.end()
                     ? 1
                     : 0;
    if (healthy == 0)
      errors.push_back({option, "",
                        fmt::format("leaves stage {} without a worker to be healed after", place.stage),
                        fmt::format("{}", worker), "Leave one of its replicas' workers as it was"});
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

template <class See>
void each_operation(const Graph& graph, See&& see) {
  for (std::size_t s = 0; s < graph.steps.size(); ++s)
    for (std::size_t o = graph.group_begin[graph.steps[s].first_group];
         o < graph.group_begin[graph.steps[s].end_group]; ++o)
      see(s, o);
}

}  // namespace

void EqualDurations::add(const Graph& piece) {
  kinds_.resize(piece.kinds.size());
  for (const Operation& each : piece.operations) {
    const auto kind = static_cast<std::size_t>(each.kind);
    Seen& seen = kinds_[kind];
    const double duration_s = std::max(each.duration_s, 0.0);
    seen.communication = piece.roles[kind].communication;
    seen.sum_s += duration_s;
    ++seen.count;
    if (seen.communication) seen.each_s.push_back(duration_s);
  }
}

std::vector<double> EqualDurations::durations_s() {
  std::vector<double> equal_s;
  for (Seen& seen : kinds_)
    equal_s.push_back(seen.count == 0      ? 0.0
                      : seen.communication ? median(seen.each_s)
                                           : seen.sum_s / seen.count);
  return equal_s;
}

std::vector<double> equal_durations_s(const Graph& graph) {
  EqualDurations durations;
  durations.add(graph);
  return durations.durations_s();
}

Times equalised(const Graph& graph, Times times, const std::vector<double>& equal_s,
                const std::function<bool(const Operation&)>& keeps) {
  for (std::size_t o = 0; o < graph.operations.size(); ++o)
    if (!keeps(graph.operations[o]))
      times.duration_s[o] = equal_s[static_cast<std::size_t>(graph.operations[o].kind)];
  return times;
}

Times ideal(const Graph& graph, Times times, const std::vector<double>& equal_s) {
  return equalised(graph, std::move(times), equal_s, [](const Operation&) { return false; });
}

Times healed(const Graph& graph, Times times, const std::vector<int>& workers, const std::string& option) {
  check_workers(graph, workers, option);
  std::vector<bool> ill(graph.workers.size(), false);
  for (const int worker : workers) ill[static_cast<std::size_t>(worker)] = true;
  std::map<Work, Peers> peers;
  const auto is_ill = [&](std::size_t o) {
    return ill[static_cast<std::size_t>(graph.operations[o].worker)];
  };
  each_operation(graph, [&](std::size_t step, std::size_t o) {
    if (is_ill(o)) peers[work_of(graph, step, graph.operations[o])];
  });
  each_operation(graph, [&](std::size_t step, std::size_t o) {
    if (is_ill(o)) return;
    const auto found = peers.find(work_of(graph, step, graph.operations[o]));
    if (found == peers.end()) return;
    found->second.duration_s += times.duration_s[o];
    if (!times.gap_s.empty()) found->second.gap_s += times.gap_s[o];
    ++found->second.count;
  });
  each_operation(graph, [&](std::size_t step, std::size_t o) {
    if (!is_ill(o)) return;
    const Peers& found = peers.at(work_of(graph, step, graph.operations[o]));
    if (found.count == 0) return;
    if (!times.gap_s.empty()) times.gap_s[o] = found.gap_s / found.count;
    if (!graph.roles[static_cast<std::size_t>(graph.operations[o].kind)].communication)
      times.duration_s[o] = found.duration_s / found.count;
  });
  return times;
}

Times faster_network(const Graph& graph, Times times, double factor) {
  for (std::size_t o = 0; o < graph.operations.size(); ++o) {
    const auto kind = static_cast<std::size_t>(graph.operations[o].kind);
    if (graph.roles[kind].communication && !graph.unrecorded[kind]) times.duration_s[o] /= factor;
  }
  return times;
}

}  // namespace simsgd::replay
