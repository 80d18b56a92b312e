// From the axes of a study to its points.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/axis_values.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd {

/// The most points of a study, before conditions leave any out; a point is some kilobytes.
inline constexpr std::size_t kMostPoints = 100000;

struct ExpandedAxes {
  std::vector<StudyPoint> points;
  std::vector<std::string> pointers;  ///< that vary, in the order of the axes, "/seed" last where seeds vary
  std::size_t left_out = 0;           ///< combinations that conditions exclude
  std::optional<SeedRule> seed_rule;
  /// Columns of the study that say what happens, not what is chosen; none where the study does not say it.
  std::optional<std::vector<std::string>> circumstances;
};

/// The points of a scenario's validated "axes", "exclude" and "seeds" (any may be missing). `origins`: of
/// `scenario`. `read`: what conditions on pointers look at. What the schema cannot say is added to `errors`.
/// Takes time and memory in proportion to the points that are left and the combinations before.
ExpandedAxes expand_axes(const Json& scenario, const Provenance& origins, const SectionReader& read,
                         ErrorList& errors);

/// The values of a log_range or range object. Whole bounds give whole numbers; bounds with the same unit give
/// text with it. An empty list where the bounds are impossible.
std::vector<Json> log_range(const Json& range);
std::vector<Json> linear_range(const Json& range);

struct WrittenAxes {
  Json keys;  ///< "axes", "exclude", "seeds" and "circumstances", those that there are, with defaults
  Provenance origins;  ///< of the whole file
};

class StudyAxes {
 public:
  /// Takes a study as expand_study made it, which outlives this.
  explicit StudyAxes(const Study& study);

  /// In the study's order, that of the seeds last where they vary.
  const std::vector<StudyAxis>& axes() const { return axes_; }
  /// An axis as the file has it, {"pointer": ..., "values": ...}; of seeds, what "seeds" says.
  const Json& written(std::size_t axis) const;
  bool has_seeds() const;

  /// The point with these values, one of each axis; where an axis' "when" does not hold, it is as without.
  /// Nothing where "exclude" leaves the point out. Of what the scenario makes of it this says nothing yet.
  std::optional<StudyPoint> point(const std::vector<AxisValue>& values) const;

 private:
  const Study& study_;
  std::vector<StudyAxis> axes_;
};

/// What conditions of a study look at: a section with its `use`s and defaults, as assignments leave it.
StudySection section_of(const Study& study, const std::string& name,
                        const std::vector<Assignment>& assignments);

}  // namespace simsgd
