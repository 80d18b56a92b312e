// Measurements out of files: of nccl-tests, OSU, NCCL Inspector, our own programs, and any CSV or JSON that a
// map explains. docs/import.md says what is read of each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/field.hpp"
#include "sim/plugin.hpp"
#include "traces/imported_file.hpp"
#include "traces/measurements.hpp"
#include "traces/reading/input.hpp"

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

// A format that measurements are imported from, as a plug-in: how it is told by its first bytes, and what
// reads it. One file each; CMakeLists.txt lists them.

/// Made once for all files of its format: those of several processes may belong together.
class Importer {
 public:
  Importer() = default;
  virtual ~Importer() = default;
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  /// One file, whose rows and counts go to `file`, which outlives the importer. Throws ConfigError.
  virtual void read(Input& input, ImportedFile& file) = 0;
  /// After the last file: what only shows in all of them.
  virtual void finish() {}
};

/// The maker of a format whose importer is a class, made of the constants or of nothing.
template <class Made>
std::unique_ptr<Importer> make_importer(const ImportConstants&) {
  return std::make_unique<Made>();
}

/// The importer of a format whose files have nothing to do with one another.
template <void (*read_file)(Input&, ImportedFile&)>
class FileImporter final : public Importer {
  void read(Input& input, ImportedFile& file) override { read_file(input, file); }
};

struct ImportFormat : Plugin<std::unique_ptr<Importer>, const ImportConstants&> {
  using Detect = bool (*)(std::string_view head);

  /// `detect_in`: whether a file that begins with `head` is of the format; null for those that need a map.
  ImportFormat(PluginInfo about, Detect detect_in, std::unique_ptr<Importer> (*maker)(const ImportConstants&))
      : Plugin(std::move(about), maker), detect(detect_in) {}
  /// With a map, which is the plug-in's options.
  template <class Map>
  ImportFormat(PluginInfo about, std::unique_ptr<Importer> (*maker)(const Map&, const ImportConstants&))
      : Plugin(std::move(about), maker), detect(nullptr) {}

  Detect detect;
};

/// In the order in which they are tried.
const std::vector<ImportFormat>& import_formats();

}  // namespace simsgd
