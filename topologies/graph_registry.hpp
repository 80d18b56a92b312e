// The table of logical graphs, written from the list in CMakeLists.txt, and the making of one.
#pragma once

#include <string>
#include <vector>

#include "topologies/graphs/graph.hpp"

namespace simsgd {

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
