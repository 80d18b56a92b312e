#include "topologies/graph_registry.hpp"

#include <algorithm>

#include "topologies/matchings.hpp"

namespace simsgd {

namespace {

void refuse_disconnected(const LogicalGraph& graph) {
  const auto alone = std::find_if(graph.neighbours.begin(), graph.neighbours.end(),
                                  [](const std::vector<int>& of) { return of.empty(); });
  const std::string where =
      alone == graph.neighbours.end()
          ? "there are workers without a way to worker 0"
          : "worker " + std::to_string(alone - graph.neighbours.begin()) + " has no neighbour";
  reject("name", "is not connected: " + where + ", so the models never agree",
         graph.name == "erdos_renyi" ? "Raise the probability, or change the seed"
                                     : "Add edges until every worker can be reached");
}

}  // namespace

LogicalGraph make_graph(const GraphRequest& request, const Json& object) {
  const std::string name = RawValue(object).name();
  GraphShape shape = find_plugin(graph_plugins(), name, "logical graph").make(object, request);
  LogicalGraph graph = make_logical_graph(name, request.workers, std::move(shape.edges));
  if (!graph.connected()) refuse_disconnected(graph);
  graph.matchings = shape.matchings.empty() ? find_matchings(graph) : std::move(shape.matchings);
  for (auto& matching : graph.matchings) {
    for (auto& [a, b] : matching)
      if (a > b) std::swap(a, b);
    std::sort(matching.begin(), matching.end());
  }
  if (!shape.laplacian_eigenvalues.empty()) {
    graph.laplacian_eigenvalues = std::move(shape.laplacian_eigenvalues);
    std::sort(graph.laplacian_eigenvalues.begin(), graph.laplacian_eigenvalues.end());
  } else if (graph.workers <= kMostForEigenvalues) {
    graph.laplacian_eigenvalues = laplacian_eigenvalues(graph);
  }
  return graph;
}

}  // namespace simsgd
