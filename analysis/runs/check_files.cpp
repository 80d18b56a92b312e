#include "analysis/runs/check_files.hpp"

#include <fmt/format.h>

#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/parts.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

std::string check_file(const std::string& path, const Overrides& overrides, const CheckSettings& settings) {
  if (const std::string part = check_part(path, overrides); !part.empty()) return part;
  const Study study = expand_study(path, overrides);
  const Examination found = examine(study, points_to_examine(study), settings.jobs, settings.interrupted);
  if (!found.failures.empty())
    throw RunError(fmt::format("{} cannot be examined: {}", study.file, found.failures.front()));
  return study.axes.empty() ? "a scenario" : fmt::format("a study of {} points", study.points.size());
}

}  // namespace simsgd
