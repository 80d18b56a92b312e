// Hypercube: workers whose numbers differ in one bit. Laplacian eigenvalues 2 k, C(d, k) times each, for
// d = log2 P dimensions. Its d matchings are its dimensions.
#include <bit>

#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

namespace {

GraphShape make_hypercube(const GraphRequest& request) {
  const auto n = static_cast<unsigned>(request.workers);
  if (!std::has_single_bit(n))
    reject("name", "needs a number of workers that is a power of two, not " + std::to_string(n),
           "Use " + std::to_string(std::bit_floor(n)) + " or " + std::to_string(std::bit_ceil(n)) +
               " workers, or the graph exponential");
  GraphShape shape;
  for (unsigned bit = 1; bit < n; bit *= 2) {
    std::vector<LogicalGraph::Edge>& pairs = shape.matchings.emplace_back();
    for (unsigned i = 0; i < n; ++i)
      if ((i & bit) == 0) pairs.emplace_back(static_cast<int>(i), static_cast<int>(i | bit));
    shape.edges.insert(shape.edges.end(), pairs.begin(), pairs.end());
  }
  for (unsigned i = 0; i < n; ++i) shape.laplacian_eigenvalues.push_back(2.0 * std::popcount(i));
  return shape;
}

}  // namespace

std::vector<GraphPlugin> hypercube() {
  return {{{.name = "hypercube",
            .summary = "workers whose numbers differ in one bit; a power of two of them",
            .citation = ""},
           make_hypercube}};
}

}  // namespace simsgd::graphs
