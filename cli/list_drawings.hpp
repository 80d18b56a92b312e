// What `simsgd list` says of a logical graph, which depends on the number of workers, and of an example of a
// physical network; and their drawings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/graphs/graph.hpp"
#include "topologies/topology.hpp"

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

struct NetworkOptions {
  std::string cluster;           ///< a cluster file, or a scenario with one; empty: an example
  int workers = 0;               ///< nodes of the example; 0: 16. Of a cluster: its workers; 0: as it says
  std::vector<std::string> set;  ///< "/key=value" for the topology's parameters
};

/// The network in DOT: of the example, nodes with two GPUs, two NICs of 1 GB/s and 2 us, and the parameters
/// in `set`; or of the cluster. Throws ConfigError where there is no such network.
std::string drawn_network(const TopologyPlugin& plugin, const NetworkOptions& options);

}  // namespace simsgd
