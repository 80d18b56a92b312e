#include "measure/needed_roles.hpp"

#include <fmt/format.h>

#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

void require_roles(const Scenario& scenario, const Job& job) {
  if (job.algorithm->needs_others() || !job.target.stop) return;
  const std::string name = scenario.resolved.at("algorithm").at("name").get<std::string>();
  throw ConfigError(
      {.file = scenario.file,
       .pointer = "/target/stop",
       .problem = fmt::format(
           "cannot end a real run of {}: its workers never meet, so nobody knows at which instant the target is reached",
           name),
       .found = "true",
       .remedy =
           "Give /stop a time or steps, and set /target/stop to false: time_to_target_s is then known at the end"});
}

}  // namespace simsgd
