// A claim's joined comparison, judged in every setting.
#pragma once

#include <string>
#include <vector>

#include "analysis/claims/join.hpp"

namespace simsgd {

/// With the inputs that vary, and in `for_all` and `along` not any more.
std::vector<ClaimCell> judged_cells(const ClaimComparison& comparison,
                                    const std::vector<std::string>& for_all,
                                    const std::vector<JoinedCell>& cells);

}  // namespace simsgd
