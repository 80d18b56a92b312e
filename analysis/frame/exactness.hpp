// Runs in which chance has no part, and how far the model may be off where two of them differ: they differ
// for certain in the model, but a difference below its error decides nothing.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/results.hpp"

namespace simsgd::frame {

/// The resolved scenario of a run, by its key (RunDetails).
using ScenarioOf = std::function<nlohmann::ordered_json(const std::string& key)>;

/// Whether no seed changes anything of these runs, of one setting: all their metrics are equal; of a single
/// run, whether nothing in its scenario is drawn.
bool is_deterministic(const ScenarioOf& scenario_of, const std::vector<const ResultPoint*>& runs);

/// How far the model may be off in the difference of a metric, in its unit; nothing unless both are
/// deterministic. On a calibrated cluster, as far as half of what was left out of the fit was off. Else as
/// far as half of the steps that were predicted from data sheets were off (data_sheet.hpp). 0 of what does
/// not go with time.
std::optional<double> off_by(const ScenarioOf& scenario_of, const std::string& metric,
                             const std::vector<const ResultPoint*>& one,
                             const std::vector<const ResultPoint*>& other);

}  // namespace simsgd::frame
