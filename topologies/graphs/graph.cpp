#include "topologies/graphs/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edge_coloring.hpp>
#include <cmath>
#include <numbers>
#include <set>

#include "sim/base/eigen_pairs.hpp"

namespace simsgd {

namespace {

/// cos(2 pi k / n) with k < n: the same for k and n - k, to the last bit.
double cosine(std::int64_t k, std::int64_t n) {
  return std::cos(2 * std::numbers::pi * static_cast<double>(std::min(k, n - k)) / static_cast<double>(n));
}

}  // namespace

std::vector<double> cycle_eigenvalues(int n) {
  if (n <= 2) return n == 2 ? std::vector<double>{0, 2} : std::vector<double>{0};
  std::vector<double> all;
  for (int k = 0; k < n; ++k) all.push_back(2 - 2 * cosine(k, n));
  return all;
}

GraphShape circulant(int n, const std::vector<int>& offsets) {
  std::set<int> both;  // directions of each offset
  for (const int offset : offsets) {
    if (offset % n == 0) continue;
    both.insert(offset % n);
    both.insert(n - offset % n);
  }
  GraphShape shape;
  for (int i = 0; i < n; ++i)
    for (const int offset : both)
      if (i < (i + offset) % n) shape.edges.emplace_back(i, (i + offset) % n);
  for (std::int64_t k = 0; k < n; ++k) {
    double sum = 0;
    for (const int offset : both) sum += 1 - cosine(k * offset % n, n);
    shape.laplacian_eigenvalues.push_back(sum);
  }
  return shape;
}

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

std::vector<double> laplacian_eigenvalues(const LogicalGraph& graph) {
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(graph.workers, graph.workers);
  for (const auto& [a, b] : graph.edges) {
    laplacian(a, b) = laplacian(b, a) = -1;
    laplacian(a, a) += 1;
    laplacian(b, b) += 1;
  }
  const Eigen::VectorXd values = symmetric_eigenvalues(laplacian);
  return {values.begin(), values.end()};
}

std::string to_dot(const LogicalGraph& graph) {
  std::string text = fmt::format("graph \"{}\" {{\n  layout=circo;\n  node [shape=circle];\n", graph.name);
  for (int worker = 0; worker < graph.workers; ++worker) text += fmt::format("  {};\n", worker);
  for (std::size_t m = 0; m < graph.matchings.size(); ++m) {
    // Hues as far apart as they can be.
    const double hue = static_cast<double>(m) / static_cast<double>(graph.matchings.size());
    for (const auto& [a, b] : graph.matchings[m])
      text += fmt::format("  {} -- {} [color=\"{:.3f} 0.8 0.7\", matching={}];\n", a, b, hue, m);
  }
  return text + "}\n";
}

namespace {

void refuse_disconnected(const LogicalGraph& graph) {
  const auto alone = std::find_if(graph.neighbours.begin(), graph.neighbours.end(),
                                  [](const std::vector<int>& of) { return of.empty(); });
  const std::string where =
      alone == graph.neighbours.end()
          ? "some workers cannot reach worker 0"
          : "worker " + std::to_string(alone - graph.neighbours.begin()) + " has no neighbour";
  reject("name", "is not connected: " + where + ", so models never agree",
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
