// Loads scenarios that are one file with different assignments, section by section: a section that was loaded
// with the same assignments before is taken as it is. A scenario by itself is loaded by the same way, once.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/loading.hpp"

namespace simsgd {

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

}  // namespace simsgd
