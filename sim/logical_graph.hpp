// A logical graph: who averages with whom. topologies/ makes it from a scenario; algorithms see it through
// their context and through Worker.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simsgd {

/// Undirected and simple. Edges are (a, b) with a < b, ascending.
struct LogicalGraph {
  using Edge = std::pair<int, int>;

  std::string name;
  int workers = 0;
  std::vector<Edge> edges;
  std::vector<std::vector<int>> neighbours;  ///< of each worker, ascending
  std::vector<std::vector<Edge>> matchings;  ///< a partition of the edges: in each, no worker has two
  /// Ascending; the second is 0 where the graph is not connected. Empty where they are not known: a large
  /// graph without a closed form.
  std::vector<double> laplacian_eigenvalues;

  int degree(int worker) const {
    return static_cast<int>(neighbours[static_cast<std::size_t>(worker)].size());
  }
  int max_degree() const;
  /// The second eigenvalue of the Laplacian (Fiedler, 1973); 0 where it is not known.
  double algebraic_connectivity() const {
    return laplacian_eigenvalues.size() > 1 ? laplacian_eigenvalues[1] : 0;
  }
  /// Every worker can be reached from every other one.
  bool connected() const;
  /// 0 or 1 for each worker such that every edge joins a 0 and a 1, worker 0 having 0; empty if there is no
  /// such division, that is if the graph has a cycle of odd length.
  std::vector<char> sides() const;
};

/// A graph with its neighbours; matchings and eigenvalues are topologies/'s to add. Edges in any order and
/// direction, and several times; none from a worker to itself.
LogicalGraph make_logical_graph(std::string name, int workers, std::vector<LogicalGraph::Edge> edges);

}  // namespace simsgd
