// The graph of 8 workers that MATCHA and Non-blocking SGD are compared on, with its five matchings.
//   Wang, Sahu, Yang, Joshi, Kar, "MATCHA: Speeding Up Decentralized SGD via Matching Decomposition
//   Sampling", ICC 2019, arXiv:1905.09435.
#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

namespace {

GraphShape make_matcha8(const GraphRequest& request) {
  if (request.workers != 8)
    reject("name", "has 8 workers, and this run has " + std::to_string(request.workers),
           "Use 8 workers, or another graph of `simsgd list graphs`");
  GraphShape shape;
  shape.matchings = {{{1, 5}, {6, 7}, {0, 4}, {2, 3}},
                     {{1, 7}, {3, 6}},
                     {{1, 0}, {3, 7}, {5, 6}},
                     {{1, 2}, {7, 0}},
                     {{3, 1}}};
  for (const auto& matching : shape.matchings)
    shape.edges.insert(shape.edges.end(), matching.begin(), matching.end());
  return shape;
}

}  // namespace

std::vector<GraphPlugin> matcha8() {
  return {{{.name = "matcha8",
            .summary = "the graph of 8 workers of the MATCHA paper, with its five matchings",
            .citation = "Wang et al., 2019, arXiv:1905.09435"},
           make_matcha8}};
}

}  // namespace simsgd::graphs
