// The table of algorithms, written from the list in CMakeLists.txt: nothing registers itself.
#pragma once

#include <vector>

#include "algorithms/plugin.hpp"

namespace simsgd {

/// In the order of that list.
const std::vector<AlgorithmPlugin>& algorithm_plugins();

}  // namespace simsgd
