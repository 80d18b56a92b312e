// A study: a scenario with `axes` (what varies: a grid over the list of axes, each a list, a range, named
// values, draws, or several axes zipped together), `exclude` (combinations that are left out) and `seeds`. A
// plain scenario is a study of one point.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/scenario.hpp"

namespace simsgd {

struct StudyPoint {
  std::string label;  ///< what distinguishes it, for people: "cluster=ethernet-1g, seed=2"
  /// The values of the axes, in their order, and the seed. One with the empty pointer is a named value, an
  /// object of pointers and what is set there; it is empty where its axis does not vary (its label is "-").
  std::vector<Assignment> coordinates;
  std::vector<std::pair<std::string, std::string>> shown =
      {};                 ///< of each, as the label has it: "cluster", "ethernet-1g"
  std::size_t cell = 0;   ///< number of its combination of axes, which the seeds of a study share
  bool optional = false;  ///< a seed that runs only where those before it are not certain enough
};

/// What a point sets in its scenario, in order.
std::vector<Assignment> settings_of(const StudyPoint& point);

/// Seeds until certain: each cell runs `at_least` seeds, and more, up to `at_most`, while the half-width of
/// Student's 95 % interval of the metric's mean is above `half_width` of that mean.
struct SeedRule {
  int at_least = 5, at_most = 5;
  std::string metric;
  double half_width = 0.05;
};

struct WrittenAxes;  // axes.hpp

struct Study {
  std::string name;
  std::string file;                   ///< as errors show it
  std::vector<std::string> axes;      ///< pointers that vary, in order; "/seed" last where seeds vary
  std::vector<Assignment> overrides;  ///< from the command line, for every point
  std::vector<StudyPoint> points;     ///< the last axis varies fastest, seeds fastest of all
  std::size_t left_out = 0;           ///< combinations that "exclude" leaves out
  std::optional<SeedRule> seed_rule;  ///< where the seeds end when the result is certain
  /// Names of the axes that happen and are not chosen, where the study says which.
  std::optional<std::vector<std::string>> circumstances;
  std::shared_ptr<const WrittenAxes> written;  ///< what its axes were read from
  std::shared_ptr<JsonFiles> files;            ///< what has been read, shared by the copies of a study
  std::shared_ptr<KnownData> known;            ///< shared likewise
};

/// Reads a study ("-" is standard input) and expands it. Throws ConfigError with what is wrong with its axes;
/// of its points it says nothing yet.
Study expand_study(const std::string& path, const Overrides& overrides = {});

/// The same, and throws what is wrong with any of its points, each error once.
Study load_study(const std::string& path, const Overrides& overrides = {});

/// What a plan says of a point's job.
struct Examined {
  int workers = 0;
  std::size_t parameters = 0;  ///< of the learner's model, 0 without
  double steps = 0;            ///< of each worker at most; 0 where only the run tells
};
Examined examined(const Job& job);

/// One point as a scenario of its own.
Scenario load_point(const Study& study, const StudyPoint& point);

struct NumberedPoint {
  Scenario scenario;
  std::string label;  ///< as StudyPoint's; empty for number 0
};

/// The point with that number, as `sweep plan` counts them from 1; 0 is the study without its axes and seeds.
/// Looks at no other point. Throws ConfigError.
NumberedPoint load_numbered_point(const std::string& path, std::int64_t number,
                                  const Overrides& overrides = {});

}  // namespace simsgd
