// simsgd explore: a report's page, served on this machine alone, whose visitors have points simulated.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "analysis/faces/live/source.hpp"

namespace simsgd::live {

struct ExploreSettings {
  SourceSettings source;
  int port = 0;                        ///< 0: any that is free
  int jobs = 1;                        ///< points at a time
  int threads = 1;                     ///< for the numerics of each
  std::optional<double> timeout_s;     ///< of a point
  std::optional<double> memory_bytes;  ///< of its process
  std::size_t points = 1000;           ///< simulated in all
  std::string libraries;               ///< JavaScript that draws, or empty: tables
  std::function<bool()> interrupted;
  /// Called once it listens.
  std::function<void(int port, const Source& source)> listening;
};

/// Serves until it is interrupted. When it ends, however it does, no child is left, and what ended is in the
/// store. Throws Interrupted; ConfigError before anything is written; RunError.
[[noreturn]] void explore(const ExploreSettings& settings);

}  // namespace simsgd::live
