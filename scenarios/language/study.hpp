// A study: a scenario with `axes` (what varies: a grid over the list of axes, each a list, a range, or
// several axes zipped together) and `seeds`. A plain scenario is a study of one point.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/known.hpp"
#include "scenarios/language/scenario.hpp"

namespace simsgd {

struct StudyPoint {
  std::string label;                    ///< what distinguishes it, for people: "cluster=ethernet-1g, seed=2"
  std::vector<Assignment> coordinates;  ///< the values of the axes, in their order, and the seed
  std::vector<std::pair<std::string, std::string>> shown =
      {};  ///< of each, as the label has it: "cluster", "ethernet-1g"
};

struct Study {
  std::string name;
  std::string file;                   ///< as errors show it
  std::vector<std::string> axes;      ///< pointers that vary, in order; "/seed" last where seeds vary
  std::vector<Assignment> overrides;  ///< from the command line, for every point
  std::vector<StudyPoint> points;     ///< the last axis varies fastest, seeds fastest of all
  std::shared_ptr<JsonFiles> files;   ///< what has been read, shared by the copies of a study
  std::shared_ptr<Known> known;       ///< what has been found right, shared likewise
};

/// Reads a study ("-" is standard input) and expands it. Throws ConfigError with what is wrong with its axes;
/// of its points it says nothing yet.
Study expand_study(const std::string& path, const Overrides& overrides = {});

/// The same, and throws what is wrong with any of its points, each error once.
Study load_study(const std::string& path, const Overrides& overrides = {});

/// Makes the job of a point and throws it away. Throws ConfigError with everything that is wrong with the
/// point: the same as load_point and make_job together.
struct Examined {
  int workers = 0;
  std::size_t parameters = 0;  ///< of the learner's model, 0 without
};
Examined examine_point(const Study& study, const StudyPoint& point);

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
