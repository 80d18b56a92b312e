// Exponential graph: workers at distances 1, 2, 4, 8, ... around a ring.
//   About 2 log2 P neighbours, and a spectral gap that falls only as 1 / log P. Ying et al., "Exponential
//   Graph is Provably Efficient for Decentralized Deep Training", NeurIPS 2021, arXiv:2110.13363.
#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

std::vector<GraphPlugin> exponential() {
  return {{{.name = "exponential",
            .summary = "workers at distances 1, 2, 4, 8, ... around a ring",
            .citation = "Ying et al., NeurIPS 2021, arXiv:2110.13363"},
           +[](const GraphRequest& request) {
             std::vector<int> offsets;
             for (int offset = 1; offset < request.workers; offset *= 2) offsets.push_back(offset);
             return circulant(request.workers, offsets);
           }}};
}

}  // namespace simsgd::graphs
