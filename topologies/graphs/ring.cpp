// Ring: every worker averages with the one before and the one after it.
//   Laplacian eigenvalues 2 - 2 cos(2 pi k / P); the second falls as 4 pi^2 / P^2.
#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

std::vector<GraphPlugin> ring() {
  return {
      {{.name = "ring", .summary = "every worker with the one before and the one after it", .citation = ""},
       +[](const GraphRequest& request) { return circulant(request.workers, {1}); }}};
}

}  // namespace simsgd::graphs
