// Complete graph: everybody with everybody. Laplacian eigenvalues 0 once and P otherwise.
// Its matchings are the rounds of a round-robin tournament (the circle method): P - 1 for an even number of
// workers, P for an odd one, as few as there can be.
#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

namespace {

/// Worker `last` stays where it is, the others go around; of an odd number of workers one has nobody to meet.
std::vector<std::vector<LogicalGraph::Edge>> tournament(int workers) {
  const int seats = workers + workers % 2, last = seats - 1;
  std::vector<std::vector<LogicalGraph::Edge>> rounds;
  for (int round = 0; round < last; ++round) {
    std::vector<LogicalGraph::Edge>& pairs = rounds.emplace_back();
    if (last < workers) pairs.emplace_back(round, last);
    for (int k = 1; k < seats / 2; ++k) pairs.emplace_back((round + k) % last, (round + last - k) % last);
  }
  return rounds;
}

GraphShape make_complete(const GraphRequest& request) {
  const int n = request.workers;
  GraphShape shape;
  if (n < 2) return shape;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) shape.edges.emplace_back(a, b);
  shape.matchings = tournament(n);
  shape.laplacian_eigenvalues.assign(static_cast<std::size_t>(n), n);
  shape.laplacian_eigenvalues.front() = 0;
  return shape;
}

}  // namespace

std::vector<GraphPlugin> complete() {
  return {{{.name = "complete", .summary = "everybody with everybody", .citation = ""}, make_complete}};
}

}  // namespace simsgd::graphs
