// Logical graphs by plug-in name, and the sentence of one that is refused.
#pragma once

#include <string>

#include "topologies/graph_registry.hpp"

namespace simsgd::test {

inline LogicalGraph graph(const std::string& name, int workers, Json parameters = Json::object(),
                          std::uint64_t seed = 1) {
  parameters["name"] = name;
  return make_graph(
      {.workers = workers, .seed = seed, .parameters = Parameters(std::move(parameters)), .find_file = {}});
}

/// Empty where the graph is accepted.
inline std::string graph_refusal(const std::string& name, int workers, Json parameters = Json::object()) {
  try {
    graph(name, workers, std::move(parameters));
  } catch (const ParameterError& error) {
    return error.what();
  }
  return "";
}

}  // namespace simsgd::test
