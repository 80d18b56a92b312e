// A candidate's run, in part or whole, and what of it counts for the target.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/questions/advice.hpp"

namespace simsgd {

struct AdviceTrial {
  std::string impossible;       ///< why it cannot run at all, a sentence; else empty
  std::string failed;           ///< or why it ended early
  std::optional<double> value;  ///< of the target; none where the level was not reached
  /// Where there is a level to reach: training loss by what it took so far, in the target's unit.
  std::vector<std::pair<double, double>> losses = {};
  /// What reaching the level, or else the whole run, takes; at least, where it was not reached.
  double time_s = 0;
  std::optional<double> cost_usd = {};
  std::string algorithm = "";
  std::map<std::string, double> metrics = {};
  std::optional<double> left_out_half = {};  ///< of the cluster's calibration
  double cost = 0;                           ///< in full runs
  std::vector<std::string> notes = {};       ///< of what was drawn

  /// The training loss when so much was spent, the mean of the last ones before: of one step it is noisy.
  double loss_at(double spent) const;
};

/// What the target's values are.
struct AdviceMeasure {
  std::string unit, meaning;
  bool more_is_better = false;
  bool to_level = false;  ///< what it takes to reach the scenario's target
};
/// `resolved`: a scenario.
AdviceMeasure measure_of(AdviceTarget target, const Json& resolved);

struct TrialOrder {
  const StudyPoint* point = nullptr;
  double share = 1;              ///< of the steps, at least a few
  std::uint64_t repetition = 0;  ///< added to the scenario's seed
};

/// Runs each in a child, some at a time; results in the order of `orders`. Throws Interrupted.
std::vector<AdviceTrial> run_trials(const Study& study, const std::vector<TrialOrder>& orders,
                                    const AdviceSettings& settings);

/// Where the time of a step goes, in words.
std::string reason_of(const std::map<std::string, double>& metrics);

}  // namespace simsgd
