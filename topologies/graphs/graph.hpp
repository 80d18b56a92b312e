// A logical graph as a plug-in: who averages with whom, one file under topologies/graphs/, listed in
// topologies/CMakeLists.txt. A plug-in names the edges; matchings and eigenvalues follow, unless it knows
// better ones. docs/graphs.md shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/logical_graph.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

struct GraphRequest {
  int workers = 1;
  std::uint64_t seed = 1;  ///< of graphs that are drawn
  std::function<std::string(const std::string&)>
      find_file{};  ///< the path of a file that the options name; may be empty
};

struct GraphShape {
  std::vector<LogicalGraph::Edge> edges;                   ///< in any order and direction, also twice
  std::vector<std::vector<LogicalGraph::Edge>> matchings;  ///< empty: to be found by edge colouring
  std::vector<double> laplacian_eigenvalues;  ///< in any order; empty: to be computed where that is feasible
};

/// Throws ParameterError where there is no such graph.
using GraphPlugin = Plugin<GraphShape, const GraphRequest&>;

/// Laplacian eigenvalues of a cycle of n workers; of two, which have one edge, 0 and 2.
/// 2 - 2 cos(2 pi k / n), k = 0 ... n - 1. Chung, "Spectral Graph Theory", AMS 1997, example 1.5.
std::vector<double> cycle_eigenvalues(int n);

/// Workers i and i + offset mod n joined for each of `offsets`: the edges, and their Laplacian's eigenvalues,
///   sum over the different offsets s and n - s of 1 - cos(2 pi k s / n), k = 0 ... n - 1.
GraphShape circulant(int n, const std::vector<int>& offsets);

/// The matchings of a graph whose edges and neighbours are there; edges ascend in each.
std::vector<std::vector<LogicalGraph::Edge>> find_matchings(const LogicalGraph& graph);

const std::vector<GraphPlugin>& graph_plugins();

/// Eigenvalues of graphs without a closed form are computed (Eigen, dense) up to so many workers.
inline constexpr int kMostForEigenvalues = 1024;

/// The graph that `object` names, with the options that it gives, complete: neighbours, matchings,
/// eigenvalues. Throws ParameterError where there is none, or where it is not connected.
LogicalGraph make_graph(const GraphRequest& request, const Json& object);

/// Laplacian eigenvalues, ascending, by Eigen.
std::vector<double> laplacian_eigenvalues(const LogicalGraph& graph);

/// The graph in DOT, for Graphviz: edges of one matching in one colour.
std::string to_dot(const LogicalGraph& graph);

}  // namespace simsgd
