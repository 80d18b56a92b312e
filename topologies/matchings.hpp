// Edge colouring: a partition of a graph's edges into matchings, in each of which no worker has two edges.
// As few as the greatest degree where the graph is bipartite (Koenig, 1916), at most one more elsewhere
// (Misra, Gries, Inf. Process. Lett. 41, 1992, doi 10.1016/0020-0190(92)90041-S, as in Boost.Graph; Vizing's
// bound). Test: tests/topologies/graphs_matchings.cpp.
#pragma once

#include <vector>

#include "sim/logical_graph.hpp"

namespace simsgd {

/// The matchings of a graph whose edges and neighbours are there; edges ascend in each.
std::vector<std::vector<LogicalGraph::Edge>> find_matchings(const LogicalGraph& graph);

}  // namespace simsgd
