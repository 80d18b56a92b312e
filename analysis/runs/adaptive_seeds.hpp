// Seeds until certain: how many seeds of a combination of axes (a cell) must run. A function of the results
// of its lower seeds alone, so that neither --jobs nor shards nor kills change which runs there are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/run_sink.hpp"
#include "analysis/runs/sweep_points.hpp"

namespace simsgd {

/// How many seeds a cell needs, as far as `values` tells: the metric of its first seeds, in their order, none
/// of those that failed or have no value. Looks after at_least seeds, then after a quarter more, and so on
/// (few looks, since each is a chance to stop too early). Stops where every seed so far has a value and the
/// half-width of Student's 95 % interval is at most the share of the mean that the rule asks for; where
/// none has a value; and at at_most. More than `values.size()` means: run up to these, then ask again.
int seeds_needed(const SeedRule& rule, const std::vector<std::optional<double>>& values);

/// Which points of a sweep run, as results come in.
class SeedRounds {
 public:
  enum class State { needed, undecided, dropped };

  /// Without a rule every point is needed.
  SeedRounds(const std::optional<SeedRule>& rule, const std::vector<SweepPoint>& points);

  /// What the sink has already.
  void look(const std::vector<SweepPoint>& points, const RunSink& sink);
  void ended(const RunRow& run);
  /// Decides anew; call it between rounds.
  void decide(const std::vector<SweepPoint>& points);
  State of(std::size_t position) const { return states_[position]; }

 private:
  std::optional<SeedRule> rule_;
  std::vector<State> states_;                            // by position
  std::map<std::string, std::optional<double>> values_;  // by key, of runs that ended
};

}  // namespace simsgd
