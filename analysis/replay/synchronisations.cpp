#include "analysis/replay/synchronisations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace simsgd::replay {

namespace {

// assumed: held together, begins differ by host jitter alone, tens to hundreds of microseconds, where
// stages of a pipeline become ready tens of milliseconds apart.
constexpr double kMostOfSpread = 0.05;
constexpr double kLeastSpread_s = 1e-3;  // per step: below it begins tell nothing
constexpr double kEarly_s = 50e-6;       // that a clock may be wrong by
constexpr double kMostPairs = 1e8;       // times steps

bool may_be_held(const Graph& graph, std::int32_t kind) {
  const Role role = graph.roles[static_cast<std::size_t>(kind)].role;
  return role == Role::gather || role == Role::reduce || role == Role::computing;
}

}  // namespace

// A group is ready when its last member is. Workers that have none in some step are left with fewer steps.
void SynchronisationFinder::add(const Graph& graph) {
  for (const Step& step : graph.steps) {
    for (std::size_t group = step.first_group; group < step.end_group; ++group) {
      const std::size_t begin = graph.group_begin[group], end = graph.group_begin[group + 1];
      const Operation& first = graph.operations[begin];
      if (first.occurrence != 0 || !may_be_held(graph, first.kind)) continue;
      double ready_s = 0;
      for (std::size_t o = begin; o < end; ++o) ready_s = std::max(ready_s, recorded_ready_s(graph, o));
      for (std::size_t o = begin; o < end; ++o) {
        Begins& worker = begins_[{first.kind, graph.operations[o].worker}];
        if (worker.start_s.size() != steps_) continue;
        worker.start_s.push_back(graph.operations[o].start_s);
        worker.ready_s.push_back(ready_s);
      }
    }
    ++steps_;
  }
}

bool SynchronisationFinder::held_together(const Begins& a, const Begins& b) {
  double apart_s = 0, spread_s = 0;
  for (std::size_t s = 0; s < a.start_s.size(); ++s) {
    const double ready_s = std::max(a.ready_s[s], b.ready_s[s]);
    if (std::min(a.start_s[s], b.start_s[s]) < ready_s - kEarly_s) return false;
    apart_s += std::fabs(a.start_s[s] - b.start_s[s]);
    spread_s += std::fabs(a.ready_s[s] - b.ready_s[s]);
  }
  return spread_s >= kLeastSpread_s * static_cast<double>(a.start_s.size()) &&
         apart_s <= kMostOfSpread * spread_s;
}

std::vector<Synchronisation> SynchronisationFinder::found(const Graph& graph) const {
  std::vector<Synchronisation> found;
  for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind) {
    std::vector<std::pair<std::int32_t, const Begins*>> workers;  // those with one in every step
    const auto number = static_cast<std::int32_t>(kind);
    for (auto each = begins_.lower_bound({number, 0}); each != begins_.end() && each->first.first == number;
         ++each)
      if (each->second.start_s.size() == steps_) workers.emplace_back(each->first.second, &each->second);
    const double pairs = static_cast<double>(workers.size()) * static_cast<double>(workers.size()) / 2;
    if (pairs * static_cast<double>(steps_) > kMostPairs) continue;
    std::vector<std::size_t> first(workers.size());  // of those that are held with each
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t a = 0; a < workers.size(); ++a)
      for (std::size_t b = a + 1; b < workers.size(); ++b) {
        if (first[a] == first[b] || !held_together(*workers[a].second, *workers[b].second)) continue;
        const std::size_t keep = std::min(first[a], first[b]), leave = std::max(first[a], first[b]);
        std::replace(first.begin(), first.end(), leave, keep);
      }
    for (std::size_t a = 0; a < workers.size(); ++a) {
      Synchronisation each{graph.kinds[kind], {}};
      for (std::size_t b = a; b < workers.size(); ++b)
        if (first[b] == a) each.workers.push_back(workers[b].first);
      if (first[a] == a && each.workers.size() > 1) found.push_back(std::move(each));
    }
  }
  return found;
}

}  // namespace simsgd::replay
