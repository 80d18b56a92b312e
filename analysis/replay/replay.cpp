#include "analysis/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"

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

namespace {

// After whom a worker is healed.
enum class PeersOf { slice, stage, all };

// What makes two operations the same work of such peers.
using Work = std::tuple<std::size_t, std::int32_t, int, int, std::int32_t, std::int32_t, std::int32_t>;

Work work_of(const Graph& graph, std::size_t step, const Operation& each, PeersOf peers) {
  const RecordedPlace& place = graph.place_of(each);
  return {step,
          each.kind,
          peers == PeersOf::all ? -1 : place.stage,
          peers == PeersOf::slice ? place.tensor : -1,
          each.micro_batch,
          each.chunk,
          each.occurrence};
}

struct Peers {
  double duration_s = 0, gap_s = 0;
  int count = 0;
};

std::vector<bool> named(const Graph& graph, const std::vector<int>& workers) {
  std::vector<bool> is(graph.workers.size(), false);
  for (const int worker : workers) is[static_cast<std::size_t>(worker)] = true;
  return is;
}

std::vector<PeersOf> peers_of(const Graph& graph, const std::vector<bool>& ill) {
  std::set<std::pair<int, int>> slices;
  std::set<int> stages;
  for (std::size_t w = 0; w < ill.size(); ++w)
    if (!ill[w]) {
      slices.emplace(graph.workers[w].stage, graph.workers[w].tensor);
      stages.insert(graph.workers[w].stage);
    }
  std::vector<PeersOf> peers;
  for (const RecordedPlace& place : graph.workers)
    peers.push_back(slices.count({place.stage, place.tensor}) > 0 ? PeersOf::slice
                    : stages.count(place.stage) > 0               ? PeersOf::stage
                                                                  : PeersOf::all);
  return peers;
}

void check_workers(const Graph& graph, const std::vector<int>& workers, const std::string& option) {
  std::vector<InputError> errors;
  for (const int worker : workers)
    if (worker < 0 || worker >= static_cast<int>(graph.workers.size()))
      errors.push_back({option, "", "names a worker that the job does not have", fmt::format("{}", worker),
                        fmt::format("Name one from 0 to {}", graph.workers.size() - 1)});
  if (errors.empty() && std::set(workers.begin(), workers.end()).size() == graph.workers.size())
    errors.push_back({option, "", "leaves no worker to be healed after",
                      fmt::format("{}", fmt::join(workers, ",")), "Leave one as it was"});
  if (!errors.empty()) throw ConfigError(std::move(errors));
}

// assumed: what differs by less is the spread of equal machines, and not worth a repair.
constexpr double kLonger = 1.05;

// The lower median: of two slow and two well, who are others of a slow one, it is well.
double typical(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
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
  const std::vector<bool> ill = named(graph, workers);
  const std::vector<PeersOf> after = peers_of(graph, ill);
  std::map<Work, Peers> peers;
  const auto worker_of = [&](std::size_t o) { return static_cast<std::size_t>(graph.operations[o].worker); };
  each_operation(graph, [&](std::size_t step, std::size_t o) {
    if (ill[worker_of(o)]) peers[work_of(graph, step, graph.operations[o], after[worker_of(o)])];
  });
  each_operation(graph, [&](std::size_t step, std::size_t o) {
    if (ill[worker_of(o)]) return;
    for (const PeersOf each : {PeersOf::slice, PeersOf::stage, PeersOf::all}) {
      const auto found = peers.find(work_of(graph, step, graph.operations[o], each));
      if (found == peers.end()) continue;
      found->second.duration_s += times.duration_s[o];
      if (!times.gap_s.empty()) found->second.gap_s += times.gap_s[o];
      ++found->second.count;
    }
  });
  each_operation(graph, [&](std::size_t step, std::size_t o) {
    if (!ill[worker_of(o)]) return;
    const PeersOf whose = after[worker_of(o)];
    const Peers& found = peers.at(work_of(graph, step, graph.operations[o], whose));
    if (found.count == 0) return;
    if (!times.gap_s.empty() && whose != PeersOf::all) times.gap_s[o] = found.gap_s / found.count;
    if (!graph.role_of(graph.operations[o]).communication)
      times.duration_s[o] = found.duration_s / found.count;
  });
  return times;
}

std::vector<int> whole_stages(const Graph& graph, const std::vector<int>& workers) {
  const std::vector<PeersOf> after = peers_of(graph, named(graph, workers));
  std::set<int> stages;
  for (std::size_t w = 0; w < after.size(); ++w)
    if (after[w] == PeersOf::all) stages.insert(graph.workers[w].stage);
  return {stages.begin(), stages.end()};
}

void SlowParts::add(const Graph& piece) {
  computing_s_.resize(piece.workers.size());
  gaps_s_.resize(piece.workers.size());
  for (const Operation& each : piece.operations) {
    if (piece.role_of(each).communication) continue;
    computing_s_[static_cast<std::size_t>(each.worker)] += std::max(each.duration_s, 0.0);
    gaps_s_[static_cast<std::size_t>(each.worker)] += std::max(each.gap_s, 0.0);
  }
}

std::vector<SlowPart> SlowParts::found(const Graph& graph) const {
  std::vector<SlowPart> parts = longer(graph, false);
  return parts.empty() ? longer(graph, true) : parts;
}

std::vector<SlowPart> SlowParts::longer(const Graph& graph, bool gaps) const {
  const auto taken_s = [&](std::size_t w) { return computing_s_[w] + (gaps ? gaps_s_[w] : 0); };
  std::map<std::pair<int, int>, std::vector<std::size_t>> same_work;
  std::map<int, std::vector<double>> of_stage;
  for (std::size_t w = 0; w < graph.workers.size(); ++w) {
    const RecordedPlace& place = graph.workers[w];
    same_work[{place.stage, graph.replicas > 1 ? place.tensor : 0}].push_back(w);
    of_stage[place.stage].push_back(taken_s(w));
  }
  SlowPart workers{{}, -1, gaps, {}, {}};
  for (const auto& [work, who] : same_work)
    for (const std::size_t w : who) {
      std::vector<double> others_s;
      for (const std::size_t other : who)
        if (other != w) others_s.push_back(taken_s(other));
      const double usual_s = typical(std::move(others_s));
      if (!(usual_s > 0 && taken_s(w) > kLonger * usual_s)) continue;
      workers.workers.push_back(static_cast<int>(w));
      workers.ratios.push_back(taken_s(w) / usual_s);
    }
  std::vector<SlowPart> parts;
  if (!workers.workers.empty()) parts.push_back(std::move(workers));
  if (gaps) return parts;  // those of stages have messages in them
  for (const auto& [stage, own] : of_stage) {
    std::vector<double> others_s;
    for (const auto& [other, taken] : of_stage)
      if (other != stage) others_s.push_back(typical(taken));
    const double usual_s = typical(std::move(others_s));
    if (!(usual_s > 0 && typical(own) > kLonger * usual_s)) continue;
    SlowPart part{{}, stage, false, {typical(own) / usual_s}, {}};
    for (std::size_t w = 0; w < graph.workers.size(); ++w)
      if (graph.workers[w].stage == stage) part.workers.push_back(static_cast<int>(w));
    parts.push_back(std::move(part));
  }
  return parts;
}

Times faster_network(const Graph& graph, Times times, double factor) {
  for (std::size_t o = 0; o < graph.operations.size(); ++o) {
    const auto kind = static_cast<std::size_t>(graph.operations[o].kind);
    if (graph.roles[kind].communication && !graph.unrecorded[kind]) times.duration_s[o] /= factor;
  }
  return times;
}

}  // namespace simsgd::replay
