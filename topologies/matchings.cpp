#include "topologies/matchings.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edge_coloring.hpp>

namespace simsgd {

namespace {

using Edge = LogicalGraph::Edge;

/// Koenig's colouring of a bipartite graph. partner[worker][colour] is whom the worker's edge of that colour
/// leads to, -1 where it has none.
class BipartiteColouring {
 public:
  explicit BipartiteColouring(const LogicalGraph& graph)
      : partner_(static_cast<std::size_t>(graph.workers),
                 std::vector<int>(static_cast<std::size_t>(graph.max_degree()), -1)) {
    for (const Edge& edge : graph.edges) add(edge);
  }

  std::vector<std::size_t> colours(const std::vector<Edge>& edges) const {
    std::vector<std::size_t> all;
    for (const auto& [a, b] : edges) {
      const std::vector<int>& of_a = partner_[static_cast<std::size_t>(a)];
      all.push_back(static_cast<std::size_t>(std::find(of_a.begin(), of_a.end(), b) - of_a.begin()));
    }
    return all;
  }

 private:
  int& partner(int worker, std::size_t colour) { return partner_[static_cast<std::size_t>(worker)][colour]; }
  std::size_t free_colour(int worker) {
    const std::vector<int>& of = partner_[static_cast<std::size_t>(worker)];
    return static_cast<std::size_t>(std::find(of.begin(), of.end(), -1) - of.begin());
  }

  /// Exchanges two colours along the path from `start` that begins with `first`.
  void swap_along(int start, std::size_t first, std::size_t second) {
    std::vector<int> path = {start};
    for (std::size_t colour = first; partner(path.back(), colour) >= 0; colour = first + second - colour)
      path.push_back(partner(path.back(), colour));
    for (const int worker : path) std::swap(partner(worker, first), partner(worker, second));
  }

  /// A colour that is free at a is made free at b: the path from b that begins with it does not reach a,
  /// which would close an odd cycle.
  void add(const Edge& edge) {
    const std::size_t colour = free_colour(edge.first);
    if (partner(edge.second, colour) >= 0) swap_along(edge.second, colour, free_colour(edge.second));
    partner(edge.first, colour) = edge.second;
    partner(edge.second, colour) = edge.first;
  }

  std::vector<std::vector<int>> partner_;
};

std::vector<std::size_t> misra_gries(const LogicalGraph& graph) {
  using Coloured = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                                         boost::property<boost::edge_color_t, std::size_t>>;
  Coloured coloured(static_cast<std::size_t>(graph.workers));
  std::vector<boost::graph_traits<Coloured>::edge_descriptor> edges;
  for (const auto& [a, b] : graph.edges)
    edges.push_back(
        boost::add_edge(static_cast<std::size_t>(a), static_cast<std::size_t>(b), coloured).first);
  boost::edge_coloring(coloured, boost::get(boost::edge_color, coloured));
  std::vector<std::size_t> colours;
  for (const auto& edge : edges) colours.push_back(boost::get(boost::edge_color, coloured, edge));
  return colours;
}

}  // namespace

std::vector<std::vector<Edge>> find_matchings(const LogicalGraph& graph) {
  if (graph.edges.empty()) return {};
  const std::vector<std::size_t> colours =
      graph.sides().empty() ? misra_gries(graph) : BipartiteColouring(graph).colours(graph.edges);
  std::vector<std::vector<Edge>> matchings;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    if (matchings.size() <= colours[i]) matchings.resize(colours[i] + 1);
    matchings[colours[i]].push_back(graph.edges[i]);
  }
  std::erase_if(matchings, [](const std::vector<Edge>& matching) { return matching.empty(); });
  return matchings;
}

}  // namespace simsgd
