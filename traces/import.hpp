// Measurements out of files: of nccl-tests, OSU, NCCL Inspector, our own programs, and any CSV or JSON that a
// map explains. docs/import.md says what is read of each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/base/field.hpp"
#include "traces/measurements.hpp"
#include "traces/recorded_workload.hpp"

namespace simsgd {

struct ImportOptions {
  std::string format;    ///< a name of import_formats(); empty: told by the content of each file
  std::string map_path;  ///< a file that says what columns or pointers mean; errors name it; may be empty
  RawValue map;          ///< its content where it is not a file of its own; errors call it `map_path`
  /// What files do not tell: operation, workers, nodes, campaign; any other key is a label. Where a file
  /// tells something else, that stays, and is counted.
  std::map<std::string, std::string> set;
};

/// What all files of one call tell: rows in the order of the files and of the lines in each; networks and
/// steps where the files are of recorded jobs.
struct Imported : Measurements {
  std::vector<RecordedWorkload> workloads;
  std::vector<RecordedStep> steps;
};

/// All files, plain or gzip, "-" for standard input.
/// Files of several processes of one job belong in one call. Throws ConfigError with all that is wrong with
/// any of them; a file without a measurement is an error.
Imported import_files(const std::vector<std::string>& paths, const ImportOptions& options);

/// The same of a text, which errors call `name`.
Imported import_text(const std::string& name, const std::string& text, const ImportOptions& options);

}  // namespace simsgd
