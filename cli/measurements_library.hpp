// What the program makes of measurements: importers, calibrations, replays, the book. They are a fifth of the
// sources, and most commands need none of it: it is a library of ours that is opened where one does
// (sim/base/this_program.hpp), and that `./setup.sh run` builds when the quick-start's table is there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/verbs.hpp"

namespace simsgd {

struct MeasurementsLibrary {
  /// `verb` as in cli/CMakeLists.txt.
  void (*add_verb)(const std::string& verb, CLI::App& app, ExitCode& exit_code);
  /// What a recorded job shows of its network: a workload. A trace that does not name its batch was recorded
  /// at `own_batch`. Throws ConfigError.
  Json (*recorded_workload)(const std::string& path, const std::function<Json()>& own_batch);
  /// Names of the formats that are read.
  std::vector<std::string> (*import_formats)();
};

/// Opens it; throws RunError where it has not been built.
const MeasurementsLibrary& measurements_library();

/// Adds a verb of the library; where that has not been built, one which says so.
void add_verb_of_measurements(const std::string& verb, CLI::App& app, ExitCode& exit_code);

}  // namespace simsgd
