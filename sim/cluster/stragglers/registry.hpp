// The kinds of straggler. To add one: a file here that defines `StragglerPlugin <kind>_straggler()`, its
// declaration in kinds.hpp and its line in the table of registry.cpp. The options that every kind has (which
// workers, which steps, how probable, relative or not) are added and applied by this registry: options.hpp.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/stragglers.hpp"
#include "sim/parameters.hpp"

namespace simsgd {

/// What a straggler needs to know when it is made, beyond its parameters.
struct StragglerSetup {
  int workers = 1;                     ///< of the job; below kMaximumRank
  std::vector<int> node_of_rank = {};  ///< empty: a node for each worker
  std::uint64_t seed = 1;              ///< of the job
  std::uint32_t index = 0;             ///< position in the scenario's list
  /// From a path as a file writes it to one that can be opened (relative to the file that names it).
  std::function<std::filesystem::path(const std::string&)> resolve = [](const std::string& path) {
    return std::filesystem::path(path);
  };
};

struct StragglerPlugin {
  PluginInfo info;  ///< in the table of straggler_plugins() with the common options
  /// The model without its common options. `parameters` are the whole object of the scenario, with "name".
  std::unique_ptr<const StragglerModel> (*make)(const Parameters&, const StragglerSetup&);
};

/// All of them, in the order in which they are listed to users.
const std::vector<StragglerPlugin>& straggler_plugins();

/// The straggler that an object of the scenario's list describes, with its common options. Throws
/// ParameterError.
std::unique_ptr<const StragglerModel> make_straggler(const Parameters& parameters,
                                                     const StragglerSetup& setup);

}  // namespace simsgd
