// Writes the timeline of a run: a file for Perfetto, and Kineto's for each rank.
#pragma once

#include <filesystem>

#include "sim/recording/timeline.hpp"

namespace simsgd {

/// Writes DIR/timeline.json (Perfetto) and DIR/kineto/rank<N>.json. Throws RunError if that fails.
void write_timeline(const Timeline& timeline, const std::filesystem::path& directory);

}  // namespace simsgd
