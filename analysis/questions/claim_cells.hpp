// A claim's comparison in every setting: the sides joined where both have runs, and judged.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/questions/claims.hpp"

namespace simsgd {

/// With the inputs that vary, and in `for_all` and `along` not any more.
std::vector<ClaimCell> judged_cells(const ClaimComparison& comparison,
                                    const std::vector<std::string>& for_all, const frame::Frame& frame);

/// Whether cells that agree in `by` agree in `pointer`.
bool determines(const std::vector<ClaimInputs>& cells, const std::string& by, const std::string& pointer);

/// Pointers that vary over the cells, without those that another one determines. `preferred` and plug-ins'
/// names stand for others that go with them.
std::vector<std::string> varying_inputs(const std::vector<ClaimInputs>& cells,
                                        const std::map<std::string, std::string>& preferred);

}  // namespace simsgd
