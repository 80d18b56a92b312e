// Logical graphs by plug-in name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "topologies/graphs/graph.hpp"

namespace simsgd::test {

inline LogicalGraph graph_of(const std::string& name, int workers, Json options = Json::object(),
                             std::uint64_t seed = 1) {
  options["name"] = name;
  return make_graph({.workers = workers, .seed = seed}, options);
}

}  // namespace simsgd::test
