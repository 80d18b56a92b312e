// Loads the points of a study one after another, and makes their jobs: of each only what differs from those
// before.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "scenarios/language/job_builder.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd {

class PointLoader {
 public:
  /// The study outlives this. `known`: as JobBuilder's.
  explicit PointLoader(const Study& study, KnownData* known = nullptr);

  /// The point as a scenario of its own. Throws ConfigError with what is wrong with it. Stays as it is until
  /// the next point is loaded, as does its job.
  const Scenario& load(const StudyPoint& point);
  /// Of the point loaded last. Throws ConfigError.
  const Job& job();
  /// Of the point loaded last: the scenario as JSON.
  std::string text();
  /// The same of completed(). After job().
  std::string completed_text();

 private:
  struct Text {
    std::shared_ptr<const LoadedSection> section;
    std::string json;
  };
  using Texts = std::map<std::string, std::string>;  // by the name of the section
  std::string text_with(const Texts& others);

  const Study& study_;
  ScenarioLoader loader_;
  JobBuilder builder_;
  bool has_job_ = false;  // of the point loaded last
  std::map<std::string, Text> texts_;
  Sections completed_;  // of which the following was made
  Texts completed_texts_;
};

}  // namespace simsgd
