// The axes of a study by themselves, for who chooses values of them one by one: a point that is made so need
// not be among the study's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/conditions.hpp"
#include "scenarios/language/study.hpp"

namespace simsgd {

struct WrittenAxes {
  Json keys;  ///< "axes", "exclude", "seeds" and "circumstances", those that there are, with defaults
  Provenance origins;  ///< of the whole file
};

class StudyAxes {
 public:
  /// Of a study as expand_study made it, which outlives this.
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
