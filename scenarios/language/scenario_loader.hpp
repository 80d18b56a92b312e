// Loads scenarios that are one file with different assignments, section by section: a section that was loaded
// with the same assignments before is taken as it is. A scenario by itself is loaded by the same way, once.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/scenario.hpp"
#include "scenarios/language/use.hpp"

namespace simsgd {

struct Sourced;

// The steps behind load_scenario, load_study and make_job, for files that share what they have read.

struct Loading {
  Scenario scenario;
  ErrorList errors;
};

/// Reads, resolves, completes and validates. `as_point`: drops the axes and seeds of a study, which else are
/// errors.
Loading load(JsonFiles& files, const std::string& path, const std::vector<Assignment>& assignments,
             bool as_point);

/// What can be built of the scenario; `errors` receives what cannot. With `known` a job that
/// learns is one to look at and not to run: its data may be those of another seed.
Job build_job(const Scenario& scenario, ErrorList& errors, KnownData* known = nullptr);
/// The same, and throws what cannot be built.
Job make_job(const Scenario& scenario, KnownData* known);

/// A cluster file, as a scenario of nothing else; a scenario or study as it is (load_cluster).
Loading load_around_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides);

/// The keys that only a study has.
inline constexpr const char* kStudyKeys[] = {"axes", "exclude", "seeds", "circumstances"};

/// What a scenario without a name is called: as its file.
std::string name_of_file(const std::string& file);

/// Whether "exclude" or "circumstances" stands without axes that it could be about, which is an error.
bool refuse_keys_of_studies(const Sourced& sourced, ErrorList& errors);
/// What is wrong with a claim, in a file of one run too.
void check_claim(const Sourced& sourced, ErrorList& errors);

/// Throws everything that is wrong, after having looked also at the sections that the schema accepts.
Scenario finished(Loading loading);

/// The most workers of a run: each has a stack of its own, of which Linux gives a process 2^47 bytes of
/// address space.
inline constexpr int kMostWorkers = 1 << 20;
/// Address space of a worker's stack (sim/engine/fibers.hpp).
inline constexpr std::size_t kStackBytesOfWorker = std::size_t{512} * 1024;
/// Links of a network that is simulated: those of as many workers on a star, in nodes of any number of GPUs.
inline constexpr std::size_t kMostLinks = std::size_t{4} * kMostWorkers;
/// Steps times workers: days of computing, so that what ends is told from what does not.
inline constexpr double kMostWorkerSteps = 1e10;
/// Numbers of a data set or a mini-batch: 8 GB.
inline constexpr double kMostNumbers = 2147483648.0;

/// A top-level member of a scenario, with what it uses and its defaults.
struct LoadedSection {
  Json value;
  bool present = false;  ///< else it has neither value nor default
  Provenance origins;
  std::map<std::string, std::string> uses;
  std::set<std::string> incomplete;
  ErrorList of_uses, of_schema;  ///< what is wrong with it
};

/// By their names. The same section is the same object.
using Sections = std::map<std::string, std::shared_ptr<const LoadedSection>>;

class ScenarioLoader {
 public:
  /// `as_point`: drops the axes and seeds of a study, which else are errors. `files` outlive this.
  ScenarioLoader(JsonFiles& files, std::string path, bool as_point)
      : files_(files), path_(std::move(path)), as_point_(as_point) {}

  /// Reads, resolves, completes and validates. Stays as it is until the next time.
  const Loading& load(const std::vector<Assignment>& assignments);
  const Loading& loaded() const { return loading_; }
  /// Of which the scenario loaded last was put together. "optimizer" and "expected" also depend on others.
  const Sections& sections() const { return sections_; }

 private:
  struct Kept {
    std::vector<Assignment> assignments;
    std::shared_ptr<const LoadedSection> section;
  };
  struct Members {
    std::vector<Assignment> assignments;
    std::set<std::string> names;
  };

  const std::set<std::string>& members(const std::vector<Assignment>& of_use);
  std::shared_ptr<const LoadedSection> section(const std::string& name,
                                               const std::vector<Assignment>& assignments);
  LoadedSection load_section(const std::string& name, const std::vector<Assignment>& assignments) const;
  bool is_dropped(const std::string& name) const;
  void put_together(const Sections& now);
  void find_errors(const Sections& now);

  JsonFiles& files_;
  std::string path_;
  bool as_point_;
  std::map<std::string, std::deque<Kept>> kept_;
  std::deque<Members> members_;
  Sections sections_;
  Loading loading_;
};

// Files that are a part of scenarios: a device, a cluster, a workload.

/// What the file describes, "a device", "a cluster" or "a workload", by the keys that it has; "" where it is
/// a scenario, or nothing of these. The pointers of `overrides` are of the file. Throws ConfigError with
/// everything that is wrong with such a part: what its own schema finds, and what can be built of it without
/// the rest of a scenario. A cluster that does not say how many workers it has is examined with one for each
/// of its GPUs.
std::string check_part(const std::string& path, const Overrides& overrides);
/// The same of a cluster that is to be written to a file of that name.
void check_cluster(const nlohmann::json& cluster, const std::string& name);

}  // namespace simsgd
