#include "analysis/replay/synchronisations.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace simsgd::replay {

namespace {

// assumed: held together, begins differ by host jitter alone, tens to hundreds of microseconds, where
// stages of a pipeline become ready tens of milliseconds apart.
constexpr double kMostOfSpread = 0.05;
constexpr double kLeastSpread_s = 1e-3;  // per step: below it begins tell nothing
constexpr double kEarly_s = 50e-6;       // that a clock may be wrong by
constexpr double kMostPairs = 1e8;       // times steps

struct Begins {
  std::vector<double> start_s, ready_s;  // by step
};

// Of the first operation of the kind in each step, by worker: a group is ready when its last member is.
std::map<std::int32_t, Begins> begins_of(const Graph& graph, std::int32_t kind) {
  std::map<std::int32_t, Begins> all;
  for (std::size_t s = 0; s < graph.steps.size(); ++s)
    for (std::size_t group = graph.steps[s].first_group; group < graph.steps[s].end_group; ++group) {
      const std::size_t begin = graph.group_begin[group], end = graph.group_begin[group + 1];
      if (graph.operations[begin].kind != kind || graph.operations[begin].occurrence != 0) continue;
      double ready_s = 0;
      for (std::size_t o = begin; o < end; ++o) ready_s = std::max(ready_s, recorded_ready_s(graph, o));
      for (std::size_t o = begin; o < end; ++o) {
        Begins& worker = all[graph.operations[o].worker];
        if (worker.start_s.size() != s) continue;
        worker.start_s.push_back(graph.operations[o].start_s);
        worker.ready_s.push_back(ready_s);
      }
    }
  std::erase_if(all, [&graph](const auto& each) { return each.second.start_s.size() != graph.steps.size(); });
  return all;
}

bool held_together(const Begins& a, const Begins& b) {
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

}  // namespace

std::vector<Synchronisation> find_synchronisations(const Graph& graph) {
  std::vector<Synchronisation> found;
  for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind) {
    const Role role = graph.roles[kind].role;
    if (role != Role::gather && role != Role::reduce && role != Role::computing) continue;
    const std::map<std::int32_t, Begins> all = begins_of(graph, static_cast<std::int32_t>(kind));
    const double pairs = static_cast<double>(all.size()) * static_cast<double>(all.size()) / 2;
    if (pairs * static_cast<double>(graph.steps.size()) > kMostPairs) continue;
    const std::vector<std::pair<std::int32_t, Begins>> workers(all.begin(), all.end());
    std::vector<std::size_t> first(workers.size());  // of those that are held with each
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t a = 0; a < workers.size(); ++a)
      for (std::size_t b = a + 1; b < workers.size(); ++b) {
        if (first[a] == first[b] || !held_together(workers[a].second, workers[b].second)) continue;
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
