// `run S --on CLUSTER --workload FILE --workers N`: another machine, another network, without editing the
// scenario.
#pragma once

#include <string>

#include "scenarios/language/use.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace simsgd {

struct RunOnOptions {
  std::string cluster, workload;
  int workers = 0;
  const CLI::Option* workers_option = nullptr;

  void add_to(CLI::App& verb);
  /// `overrides`, after what these options set. What they do not say (workers, batch) stays as the scenario
  /// has it, which `overrides` have a say in. Throws ConfigError.
  Overrides before(Overrides overrides, const std::string& scenario) const;
};

}  // namespace simsgd
