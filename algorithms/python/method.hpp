// The algorithm "python": a method that a scenario gives as Python's text. What runs it is a library of ours
// that is opened for such a scenario (method_module.cpp).
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "algorithms/plugin.hpp"

namespace simsgd {

struct PythonOptions {
  std::optional<std::string> source;
  std::string file = "method.py", function;
  RawValue options, graph;
  double yield_limit_s = 60;

  void fields(Fields& f);
  void complete(const AlgorithmContext& context);
};

const AlgorithmPlugin& python_plugin();

/// Pointer and value: the scenario's algorithm is the method in this file.
std::pair<std::string, std::string> python_override(const std::string& file);

}  // namespace simsgd
