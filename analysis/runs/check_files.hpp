// What `simsgd check` does with a file: the examination that a run begins with, of a scenario, of every point
// of a study, or of a part that scenarios use.
#pragma once

#include <functional>
#include <string>

#include "scenarios/language/use.hpp"

namespace simsgd {

struct CheckSettings {
  int jobs = 1;  ///< children at a time
  std::function<bool()> interrupted;
};

/// What the file is: "a scenario", "a study of 12 points", "a device". Throws ConfigError with everything
/// that is wrong with it, as a run would; RunError where it cannot be examined; Interrupted.
std::string check_file(const std::string& path, const Overrides& overrides, const CheckSettings& settings);

}  // namespace simsgd
