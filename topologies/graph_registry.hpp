// The table of logical graphs: one line each, nothing registers itself; and the making of one.
#pragma once

#include <string>
#include <vector>

#include "topologies/graphs/graph.hpp"

namespace simsgd {

const std::vector<GraphPlugin>& graph_plugins();

/// Eigenvalues of graphs without a closed form are computed (Eigen, dense) up to so many workers.
inline constexpr int kMostForEigenvalues = 1024;

/// The graph that the request's parameters name, complete: neighbours, matchings, eigenvalues. Throws
/// ParameterError where there is none, or where it is not connected.
LogicalGraph make_graph(const GraphRequest& request);

/// Laplacian eigenvalues, ascending, by Eigen.
std::vector<double> laplacian_eigenvalues(const LogicalGraph& graph);

/// The graph in DOT, for Graphviz: edges of one matching in one colour.
std::string to_dot(const LogicalGraph& graph);

}  // namespace simsgd
