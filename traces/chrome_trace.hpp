// Chrome's trace events, as Kineto (PyTorch's profiler) uses them: the timeline of a run for Perfetto, or as
// the profile of one rank.
#pragma once

#include <functional>
#include <string>

#include "sim/recording/timeline.hpp"

namespace simsgd {

/// All ranks that are recorded, with the arrows between them.
inline constexpr int kAllRanks = -1;

/// Gives the text of the file to `write`, piece by piece. `rank`: the only one in it, or kAllRanks.
void write_chrome_trace(const Timeline& timeline, int rank,
                        const std::function<void(const std::string&)>& write);

}  // namespace simsgd
