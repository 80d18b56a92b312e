// What is explored: a scenario or a study, whose runs are kept in a file or for as long as the server runs;
// or a store, and those of its studies whose files are there as they were.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/runs/results.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/store.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd::live {

struct SourceSettings {
  std::string path;              ///< a store, a study or a scenario
  std::filesystem::path output;  ///< where the runs of a study are kept, or empty
  Overrides overrides;
  int jobs = 1;  ///< children that read points
  std::function<bool()> interrupted;
};

/// A directory that is gone with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();  ///< throws RunError
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A study whose points can be simulated.
struct OpenStudy {
  std::unique_ptr<const Study> study;  ///< others refer to it
  ResultStudy row;                     ///< as the store has it, or will have it
};

struct Source {
  std::filesystem::path store;
  bool is_kept = true;  ///< not gone at the end
  std::vector<OpenStudy> studies;
  std::vector<std::string> reasons;  ///< why others can only be looked at, sentences
  std::unique_ptr<TemporaryFolder> folder;
};

/// Looks at everything and writes nothing but a directory of its own. A scenario without axes gets one over
/// its workers. Throws ConfigError, RunError, Interrupted.
Source open_source(const SourceSettings& settings);

// Points that visitors added to a study. In the store they are a sweep of their own, "NAME: explored", of the
// same runs that `sweep run` would make; on the page they stand among the study's points.

class ExploredPoints {
 public:
  /// Of a study, with those that are in the store already.
  ExploredPoints(const ResultStore& store, const ResultStudy& study);

  /// Whether the study, or what was added to it, has a point of that run.
  bool has(const std::string& key) const;
  /// Adds a point and writes the sweep.
  void add(ResultStore& store, ResultPoint point);

  std::size_t count() const { return sweep_.points.size(); }

  /// `studies` with these points in the study, each where its values have their place, and no longer by
  /// themselves.
  void join(std::vector<ResultStudy>& studies) const;

 private:
  std::string study_id_;
  std::vector<std::string> study_keys_;  // sorted
  ResultStudy sweep_;
  std::vector<std::string> ids_;  // under which the store has it; more than one where a process was killed
};

/// Sorts by the values of each axis, the last one fastest: numbers ascending, others as they first come.
void order_by_values(std::vector<ResultPoint>& points);

}  // namespace simsgd::live
