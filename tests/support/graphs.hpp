// Logical graphs by plug-in name.
#pragma once

#include <string>
#include <utility>

#include "topologies/graph_registry.hpp"

namespace simsgd::test {

inline LogicalGraph graph_of(const std::string& name, int workers, Json parameters = Json::object(),
                             std::uint64_t seed = 1) {
  parameters["name"] = name;
  return make_graph(
      {.workers = workers, .seed = seed, .parameters = Parameters(std::move(parameters)), .find_file = {}});
}

}  // namespace simsgd::test
