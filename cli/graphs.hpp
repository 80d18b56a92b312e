// What `simsgd list graphs` says of a logical graph, which depends on the number of workers, and its drawing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/graphs/graph.hpp"

namespace simsgd {

struct GraphOptions {
  int workers = 0;               ///< 0: 16, or as many as the graph has where it has a fixed number
  std::uint64_t seed = 1;        ///< of a graph that is drawn
  std::vector<std::string> set;  ///< "/key=value" for the graph's parameters
};

/// Throws ConfigError with the remedy where there is no such graph.
LogicalGraph graph_of(const GraphPlugin& plugin, const GraphOptions& options);
/// The same where nobody asked for a certain graph; nothing where there is none, as without a file's path.
std::optional<LogicalGraph> example_of(const GraphPlugin& plugin, const GraphOptions& options);

/// Keys: workers, edges, degree_min, degree_max, matchings; laplacian_second, laplacian_last, alpha (the best
/// one) and spectral_gap_laplacian where the eigenvalues are known; spectral_gap_metropolis.
Json graph_facts(const LogicalGraph& graph);
/// The same for people, in lines.
std::vector<std::string> graph_lines(const Json& facts);

}  // namespace simsgd
