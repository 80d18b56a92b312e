// All training methods that a scenario may name.
#pragma once

#include <vector>

#include "algorithms/plugin.hpp"

namespace simsgd {

/// The program's own, methods in Python, and those of libraries (algorithms/loaded_algorithms.hpp). Throws
/// ConfigError where a library cannot be used.
const std::vector<AlgorithmPlugin>& training_methods();

}  // namespace simsgd
