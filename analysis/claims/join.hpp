// The sides of a claim's comparison, joined over the settings in which both have runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/claims/claim_verdict.hpp"

namespace simsgd {

/// A comparison where nothing but the seed is left open.
struct JoinedCell {
  ClaimInputs inputs;
  std::map<std::int64_t, double> quantity;  ///< by seed, up to one tau; NaN where a metric has no value
};

/// In the order of the runs.
std::vector<JoinedCell> join_sides(const ClaimComparison& comparison, const std::vector<ClaimRun>& runs);

/// Whether cells that agree in `by` agree in `pointer`.
bool determines(const std::vector<ClaimInputs>& cells, const std::string& by, const std::string& pointer);

/// Pointers that vary over the cells, without those that another one determines. `preferred` and plug-ins'
/// names stand for others that go with them.
std::vector<std::string> varying_inputs(const std::vector<ClaimInputs>& cells,
                                        const std::map<std::string, std::string>& preferred);

}  // namespace simsgd
