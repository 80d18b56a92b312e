// Loads the points of a study one after another, and makes their jobs: of each only what differs from those
// before.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/language/reader.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "scenarios/language/study.hpp"
#include "sim/job.hpp"

namespace simsgd {

// Builds the jobs of scenarios, one after another, and of each only what differs from the one before. A job
// by itself is built by the same way, once.

class JobBuilder {
 public:
  /// With `known` a job that learns is one to look at and not to run: its data may be those of another seed.
  explicit JobBuilder(KnownData* known = nullptr) : known_(known) {}

  /// What can be built of the scenario; `errors` receives what cannot. Stays as it is until the next time.
  /// `sections`: of which a ScenarioLoader put the scenario together, without any error.
  Job& build(const Scenario& scenario, ErrorList& errors, const Sections& sections = {});
  const Job& job() const { return job_; }

 private:
  void build_all(const Reader& reader);
  /// Whether any of these sections may be another than that of the job before.
  bool differs(std::initializer_list<const char*> names) const;
  void build_settings(const Reader& reader);
  void build_machines(const Reader& reader);
  void build_training(const Reader& reader, int workers);
  void build_timing(const Reader& reader);
  void build_method(const Reader& reader);

  KnownData* known_;
  const Sections* now_ = nullptr;
  Sections before_;  // of the job; empty: there is none
  Job job_;
  bool learner_is_new_ = false;
  Json device_;  // that the workload's times are of
  Precision precision_ = Precision::fp32;
  bool with_islands_ = false;
  std::vector<Note> timing_notes_;
};

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
