// Training methods of libraries outside the program (plugin_library.hpp), which `--plugin` or the
// environment's SIMSGD_PLUGINS names.
#pragma once

#include <string>
#include <vector>

#include "algorithms/plugin.hpp"

namespace simsgd {

/// Adds a library to SIMSGD_PLUGINS, which processes that this one starts see too. Before the first scenario
/// is read.
void name_plugin_library(const std::string& file);

/// The methods of all libraries that SIMSGD_PLUGINS names, separated by colons; they stay loaded. Throws
/// ConfigError.
const std::vector<AlgorithmPlugin>& loaded_algorithms();

}  // namespace simsgd
