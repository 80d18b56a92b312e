#include "measure/needed_roles.hpp"

#include <fmt/format.h>

#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

void require_roles(const Scenario& scenario, const Job& job) {
  const Needs needs = job.algorithm->needs();
  std::vector<std::string> missing;
  if (needs.background)
    missing.emplace_back("background (handlers, events and timers beside its main thread)");
  if (needs.preemption) missing.emplace_back("preemption (gradients that can be given up)");
  if (missing.empty()) return;
  const std::string name = scenario.resolved.at("algorithm").at("name").get<std::string>();
  throw ConfigError({.file = scenario.file,
                     .pointer = "/algorithm/name",
                     .problem = fmt::format("{} needs {} of its workers, which a real run does not offer",
                                            name, fmt::join(missing, " and ")),
                     .found = "",
                     .remedy = "Simulate it with simsgd run, or take another algorithm"});
}

}  // namespace simsgd
