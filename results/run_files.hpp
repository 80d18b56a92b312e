// The files of a run, simulated or real.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/recording/step_log.hpp"
#include "sim/recording/timeline.hpp"
#include "traces/chakra/chakra_writer.hpp"

namespace simsgd {

/// The document of a run, and what only files hold.
struct RunOutcome {
  nlohmann::ordered_json document;
  Timeline timeline{TimelineSetup{}};  ///< empty where none was recorded
  std::vector<StepRow> steps{};        ///< likewise
};

/// Where the files of a run lie.
struct RunFiles {
  std::filesystem::path document, training_curve, test_curve, timeline, steps;
};

/// Writes DIR/result.json, DIR/loss.csv, DIR/accuracy.csv, DIR/steps.csv, DIR/timeline.json and
/// DIR/kineto/rank<N>.json; leaves out what the run does not have. Makes DIR. Each file appears whole or not
/// at all. Throws RunError.
RunFiles write_run(const RunOutcome& outcome, const std::filesystem::path& directory);

/// Writes DIR/timeline.json (Perfetto) and DIR/kineto/rank<N>.json. Throws RunError.
void write_timeline(const Timeline& timeline, const std::filesystem::path& directory);

/// Where they lie, for people.
std::string files_text(const RunFiles& files);

/// The directory that they will lie in: made before the run, not after it. One that was made for nothing is
/// removed again.
class OutputDirectory {
 public:
  /// Nothing where the path is empty. Throws ConfigError where it cannot be made or written to.
  explicit OutputDirectory(const std::filesystem::path& path);
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

 private:
  std::filesystem::path path_;
  bool made_ = false;
};

/// Writes DIR/NAME.RANK.et of every rank, and DIR/NAME.groups.json, members by name, where operations are
/// among some ranks only. Makes DIR; each file appears whole or not at all. Throws RunError, also where the
/// job cannot be written.
void write_chakra(const ChakraRecorder& recorder, const std::string& name,
                  const std::filesystem::path& directory);

/// Before a run: makes `directory`. Throws ConfigError, which calls `option`, where it cannot be made or
/// written to, or holds traces that this run's will not replace: whoever reads NAME.*.et, or *.et, would take
/// both for one job. A directory that was made and stays empty is removed.
class ChakraDirectory {
 public:
  ChakraDirectory(const std::filesystem::path& directory, const std::string& name, int workers,
                  const std::string& option);

 private:
  std::optional<OutputDirectory> directory_;
};

}  // namespace simsgd
