#include "topologies/graph_registry.hpp"

#include <algorithm>

#include "topologies/matchings.hpp"

namespace simsgd {

GraphPlugin complete_graph();     // graphs/complete.cpp
GraphPlugin erdos_renyi_graph();  // graphs/erdos_renyi.cpp
GraphPlugin exponential_graph();  // graphs/exponential.cpp
GraphPlugin file_graph();         // graphs/file.cpp
GraphPlugin hypercube_graph();    // graphs/hypercube.cpp
GraphPlugin matcha8_graph();      // graphs/matcha8.cpp
GraphPlugin ring_graph();         // graphs/ring.cpp
GraphPlugin torus_graph();        // graphs/torus.cpp

const std::vector<GraphPlugin>& graph_plugins() {
  static const std::vector<GraphPlugin> table = {
      ring_graph(),     torus_graph(),       exponential_graph(), hypercube_graph(),
      complete_graph(), erdos_renyi_graph(), matcha8_graph(),     file_graph(),
  };
  return table;
}

namespace {

GraphShape shape_of(const GraphRequest& request, const std::string& name) {
  for (const GraphPlugin& plugin : graph_plugins())
    if (plugin.info.name == name) return plugin.make(request);
  Parameters::reject("name", "is no logical graph", "Choose one of `simsgd list graphs`");
}

void refuse_disconnected(const LogicalGraph& graph) {
  const auto alone = std::find_if(graph.neighbours.begin(), graph.neighbours.end(),
                                  [](const std::vector<int>& of) { return of.empty(); });
  const std::string where =
      alone == graph.neighbours.end()
          ? "there are workers without a way to worker 0"
          : "worker " + std::to_string(alone - graph.neighbours.begin()) + " has no neighbour";
  Parameters::reject("name", "is not connected: " + where + ", so the models never agree",
                     graph.name == "erdos_renyi" ? "Raise the probability, or change the seed"
                                                 : "Add edges until every worker can be reached");
}

}  // namespace

LogicalGraph make_graph(const GraphRequest& request) {
  const std::string name = request.parameters.text("name");
  GraphShape shape = shape_of(request, name);
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
