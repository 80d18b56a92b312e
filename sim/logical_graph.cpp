#include "sim/logical_graph.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

/// The distance of every worker from worker 0; -1 where there is no way.
std::vector<int> distances(const LogicalGraph& graph) {
  std::vector<int> distance(static_cast<std::size_t>(graph.workers), -1);
  std::vector<int> reached;
  if (graph.workers > 0) {
    distance[0] = 0;
    reached.push_back(0);
  }
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const auto here = static_cast<std::size_t>(reached[next]);
    for (const int neighbour : graph.neighbours[here]) {
      int& there = distance[static_cast<std::size_t>(neighbour)];
      if (there >= 0) continue;
      there = distance[here] + 1;
      reached.push_back(neighbour);
    }
  }
  return distance;
}

}  // namespace

int LogicalGraph::max_degree() const {
  std::size_t most = 0;
  for (const std::vector<int>& each : neighbours) most = std::max(most, each.size());
  return static_cast<int>(most);
}

bool LogicalGraph::connected() const {
  const std::vector<int> distance = distances(*this);
  return std::find(distance.begin(), distance.end(), -1) == distance.end();
}

std::vector<char> LogicalGraph::sides() const {
  std::vector<char> side;
  for (const int distance : distances(*this)) side.push_back(static_cast<char>(distance % 2 != 0));
  const bool divided = std::all_of(edges.begin(), edges.end(), [&side](const Edge& edge) {
    return side[static_cast<std::size_t>(edge.first)] != side[static_cast<std::size_t>(edge.second)];
  });
  return divided ? side : std::vector<char>{};
}

LogicalGraph make_logical_graph(std::string name, int workers, std::vector<LogicalGraph::Edge> edges) {
  LogicalGraph graph;
  graph.name = std::move(name);
  graph.workers = workers;
  for (auto& [a, b] : edges)
    if (a > b) std::swap(a, b);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  graph.neighbours.resize(static_cast<std::size_t>(workers));
  for (const auto& [a, b] : edges) {
    CHECK(a >= 0 && a < b && b < workers, "an edge of a logical graph joins two different workers");
    graph.neighbours[static_cast<std::size_t>(a)].push_back(b);
    graph.neighbours[static_cast<std::size_t>(b)].push_back(a);
  }
  for (std::vector<int>& each : graph.neighbours) std::sort(each.begin(), each.end());
  graph.edges = std::move(edges);
  return graph;
}

}  // namespace simsgd
