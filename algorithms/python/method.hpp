// The algorithm "python": a method that a scenario gives as Python's text.
#pragma once

#include "algorithms/plugin.hpp"

namespace simsgd {

const AlgorithmPlugin& python_plugin();

/// Pointer and value: the scenario's algorithm is the method in this file.
std::pair<std::string, std::string> python_override(const std::string& file);

}  // namespace simsgd
