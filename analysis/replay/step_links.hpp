// What the operations of one step wait for: their lanes, what they need on their worker, messages between
// stages; and who takes part in an operation together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
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

// Workers that something unrecorded holds together.

inline constexpr double kLeastSpread_s = 1e-3;  // per step: below it begins tell nothing
// assumed: clocks are off by so much in a step, or by so little of what a barrier explains that it does not
// matter whether those who begin first waited for the last one or for somebody just before it.
inline constexpr double kEarly_s = 50e-6;
inline constexpr double kEarlyOfSpread = 0.005;
inline constexpr double kMostPairs = 1e8;  // times steps
inline bool may_be_held(const Graph& graph, std::int32_t kind) {
  const Role role = graph.roles[static_cast<std::size_t>(kind)].role;
  return role == Role::gather || role == Role::reduce || role == Role::computing;
}

/// Two workers are held together before a kind of operation where, over all steps, its begins differ by at
/// most a twentieth of what the ends differ by that they wait for, and neither begins before both are ready.
/// Whoever of the same stage begins with them belongs to them, too: also the one that all waited for, whose
/// record may overlap, or lie on a clock that is a little off.
class SynchronisationFinder {
 public:
  /// The next steps, linked without synchronisations.
  /// Of a group that is recorded from its last starter on, everybody is ready when its last member is. Who
  /// began before all that it waits for had ended did not wait for the rest of it.
  void add(const Graph& graph) {
    for (const Step& step : graph.steps) {
      for (std::size_t group = step.first_group; group < step.end_group; ++group) {
        const std::size_t begin = graph.group_begin[group], end = graph.group_begin[group + 1];
        const Operation& first = graph.operations[begin];
        if (first.occurrence != 0 || !may_be_held(graph, first.kind)) continue;
        const auto ready_s = [&graph](std::size_t o) {
          return std::min(recorded_ready_s(graph, o), graph.operations[o].start_s);
        };
        const GroupTimes times = group_times(graph, group);
        double last_ready_s = 0;
        for (std::size_t o = begin; o < end; ++o) last_ready_s = std::max(last_ready_s, ready_s(o));
        for (std::size_t o = begin; o < end; ++o) {
          const Operation& each = graph.operations[o];
          Begins& worker = begins_[{first.kind, each.worker}];
          if (worker.start_s.size() > steps_) continue;
          worker.every_step = worker.every_step && worker.start_s.size() == steps_;
          worker.start_s.resize(steps_, NAN);
          worker.ready_s.resize(steps_, NAN);
          worker.start_s.push_back(each.start_s);
          worker.ready_s.push_back(times.go_s - each.start_s <= times.aligned_s ? last_ready_s : ready_s(o));
        }
      }
      ++steps_;
    }
  }

  /// Of all steps; kinds and workers are `graph`'s.
  std::vector<Synchronisation> found(const Graph& graph) const {
    const auto stage = [&graph](std::int32_t worker) {
      return graph.workers[static_cast<std::size_t>(worker)].stage;
    };
    std::vector<Synchronisation> found;
    for (std::size_t kind = 0; kind < graph.kinds.size(); ++kind) {
      std::vector<Named> all, whole;
      const auto number = static_cast<std::int32_t>(kind);
      for (auto each = begins_.lower_bound({number, 0}); each != begins_.end() && each->first.first == number;
           ++each) {
        all.emplace_back(each->first.second, &each->second);
        if (each->second.every_step && each->second.start_s.size() == steps_) whole.push_back(all.back());
      }
      const std::vector<std::vector<Named>> sets = held(whole);
      std::set<std::int32_t> taken;
      for (const std::vector<Named>& set : sets)
        for (const Named& each : set) taken.insert(each.first);
      for (const std::vector<Named>& set : sets) {
        std::set<int> stages;
        for (const Named& each : set) stages.insert(stage(each.first));
        Synchronisation made{graph.kinds[kind], {}};
        for (const Named& each : all)
          if (std::ranges::find(set, each) != set.end() ||
              (stages.count(stage(each.first)) > 0 && taken.count(each.first) == 0 &&
               begins_with(*each.second, set) && taken.insert(each.first).second))
            made.workers.push_back(each.first);
        found.push_back(std::move(made));
      }
    }
    return found;
  }

 private:
  struct Begins {
    std::vector<double> start_s, ready_s;  // by step, of the first operation of a kind; NaN: it has none
    bool every_step = true;
  };
  using Named = std::pair<std::int32_t, const Begins*>;  // a worker's
  static bool held_together(const Begins& a, const Begins& b) {
    double apart_s = 0, spread_s = 0, early_s = 0;
    const auto steps = static_cast<double>(a.start_s.size());
    for (std::size_t s = 0; s < a.start_s.size(); ++s) {
      early_s += std::max(
          0.0, std::max(a.ready_s[s], b.ready_s[s]) - std::min(a.start_s[s], b.start_s[s]) - kEarly_s);
      apart_s += std::fabs(a.start_s[s] - b.start_s[s]);
      spread_s += std::fabs(a.ready_s[s] - b.ready_s[s]);
    }
    return spread_s >= kLeastSpread_s * steps && apart_s <= kMostOfSpread * spread_s &&
           early_s <= kEarlyOfSpread * spread_s;
  }

  // As far as begins tell, over the steps in which both have one.
  static bool begins_with(const Begins& other, const std::vector<Named>& held) {
    double apart_s = 0, spread_s = 0;
    for (std::size_t s = 0; s < other.start_s.size(); ++s) {
      if (std::isnan(other.start_s[s])) continue;
      double first_s = other.ready_s[s], last_s = first_s;
      for (const auto& [worker, each] : held) {
        first_s = std::min(first_s, each->ready_s[s]);
        last_s = std::max(last_s, each->ready_s[s]);
      }
      apart_s += std::fabs(other.start_s[s] - held.front().second->start_s[s]);
      spread_s += last_s - first_s;
    }
    return apart_s <= kMostOfSpread * spread_s;
  }

  // Those of `workers` that have one in every step, in sets of two and more; without the rest of their
  // stages.
  std::vector<std::vector<Named>> held(const std::vector<Named>& workers) const {
    const double pairs = static_cast<double>(workers.size()) * static_cast<double>(workers.size()) / 2;
    if (pairs * static_cast<double>(steps_) > kMostPairs) return {};
    std::vector<std::size_t> first(workers.size());  // of those that are held with each
    std::iota(first.begin(), first.end(), std::size_t{0});
    for (std::size_t a = 0; a < workers.size(); ++a)
      for (std::size_t b = a + 1; b < workers.size(); ++b) {
        if (first[a] == first[b] || !held_together(*workers[a].second, *workers[b].second)) continue;
        const std::size_t keep = std::min(first[a], first[b]), leave = std::max(first[a], first[b]);
        std::replace(first.begin(), first.end(), leave, keep);
      }
    std::vector<std::vector<Named>> sets;
    for (std::size_t a = 0; a < workers.size(); ++a) {
      std::vector<Named> set;
      for (std::size_t b = a; b < workers.size() && first[a] == a; ++b)
        if (first[b] == a) set.push_back(workers[b]);
      if (set.size() > 1) sets.push_back(std::move(set));
    }
    return sets;
  }

  std::map<std::pair<std::int32_t, std::int32_t>, Begins> begins_;  // by kind and worker
  std::size_t steps_ = 0;
};

}  // namespace simsgd::replay
