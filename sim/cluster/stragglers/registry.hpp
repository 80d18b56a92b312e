// The kinds of straggler. To add one: a file here that defines `std::vector<StragglerPlugin>
// stragglers::KIND()`, and its line in the list of ../CMakeLists.txt. The options that every kind has (which
// workers, which steps, how probable, relative or not) are added and applied by this registry: options.hpp.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/stragglers.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What a straggler needs to know when it is made, beyond its parameters.
struct StragglerSetup {
  int workers = 1;                     ///< of the job; ranks are up to kMaximumRank
  std::vector<int> node_of_rank = {};  ///< empty: a node for each worker
  std::uint64_t seed = 1;              ///< of the job
  std::uint32_t index = 0;             ///< position in the scenario's list
  /// From a path as a file writes it to one that can be opened (relative to the file that names it).
  std::function<std::filesystem::path(const std::string&)> resolve = [](const std::string& path) {
    return std::filesystem::path(path);
  };
};

struct StragglerCommon;
using MadeStraggler = std::unique_ptr<const StragglerModel>;

/// Makes the model without what the common options do around it; it may look at them.
struct StragglerPlugin : Plugin<MadeStraggler, const StragglerCommon&, const StragglerSetup&> {
  using Plugin::Plugin;
  /// Of the scenario's object: with the common options.
  void form(Json& form) const;
};

/// All of them, in the order in which they are listed to users.
const std::vector<StragglerPlugin>& straggler_plugins();

/// The straggler that an object of the scenario's list describes, with its common options. Throws
/// ParameterError.
MadeStraggler make_straggler(const Json& object, const StragglerSetup& setup);

}  // namespace simsgd
