// Erdos-Renyi graph: every two workers are joined with the same probability, independently.
//   Connected with probability tending to 1 where that is more than ln P / P, the default is twice that.
//   Erdos, Renyi, "On the evolution of random graphs", Publ. Math. Inst. Hung. Acad. Sci. 5, 1960.
// Drawn from the scenario's seed: a function of (seed, a, b) in the order of the pairs.
#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/random.hpp"
#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

namespace {

struct ErdosRenyiOptions {
  std::optional<double> probability;

  void fields(Fields& f) {
    f.number("probability", probability, "Two workers are joined with this probability")
        .at_least(0)
        .at_most(1)
        .by_rule("2 ln P / P, twice where the graph becomes connected");
  }
  void complete(const GraphRequest& request) {
    const int n = request.workers;
    const double threshold = n > 1 ? std::log(static_cast<double>(n)) / n : 0;
    if (!probability) probability = std::min(1.0, 2 * threshold);
  }
};

GraphShape make_erdos_renyi(const ErdosRenyiOptions& options, const GraphRequest& request) {
  const int n = request.workers;
  const double probability = *options.probability;
  Stream draws({.seed = request.seed, .purpose = Purpose::graph, .entity = 0, .step = 0});
  GraphShape shape;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      if (draws.uniform() < probability) shape.edges.emplace_back(a, b);
  return shape;
}

}  // namespace

std::vector<GraphPlugin> erdos_renyi() {
  return {{{.name = "erdos_renyi",
            .summary = "every two workers with the same probability, drawn from the scenario's seed",
            .citation = "Erdos, Renyi, 1960"},
           make_erdos_renyi}};
}

}  // namespace simsgd::graphs
