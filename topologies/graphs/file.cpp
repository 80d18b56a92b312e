// A graph from a file: GraphML, or DOT as Graphviz writes it. Undirected; edges that are written twice count
// once. Nodes named 0 to P - 1 are these workers; otherwise nodes are workers in the order of the file.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/graph/graphviz.hpp>
#include <fstream>
#include <numeric>

#include "topologies/graphs/graph.hpp"

namespace simsgd::graphs {

namespace {

using Properties = boost::property<boost::vertex_name_t, std::string>;
using FileGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, Properties>;

[[noreturn]] void refuse(const std::string& problem, const std::string& remedy) {
  reject("path", problem, remedy);
}

FileGraph read(const std::string& path) {
  const bool graphml = path.ends_with(".graphml") || path.ends_with(".xml");
  if (!graphml && !path.ends_with(".dot") && !path.ends_with(".gv"))
    refuse("has a name that is neither of a GraphML nor of a DOT file",
           "Name the file .graphml, .xml, .dot or .gv");
  std::ifstream stream(path);
  if (!stream) refuse("cannot be read", "Write the path of a GraphML or DOT file");
  FileGraph graph;
  boost::dynamic_properties properties(boost::ignore_other_properties);
  properties.property(graphml ? "name" : "node_id", boost::get(boost::vertex_name, graph));
  try {
    if (graphml)
      boost::read_graphml(stream, graph, properties);
    else
      boost::read_graphviz(stream, graph, properties);
  } catch (const boost::directed_graph_error&) {
    refuse("is a directed graph, but averages are mutual",
           graphml ? "Write edgedefault=\"undirected\"" : "Write graph { a -- b }, not digraph { a -> b }");
  } catch (const std::exception& error) {
    refuse(std::string("cannot be parsed: ") + error.what(),
           "Write a GraphML or DOT file, such as graph { 0 -- 1; 1 -- 2 }");
  }
  return graph;
}

/// The worker of each node, in the order of the file.
std::vector<int> workers_of(const FileGraph& graph) {
  const std::size_t n = boost::num_vertices(graph);
  std::vector<int> by_name(n, -1), in_order(n);
  std::iota(in_order.begin(), in_order.end(), 0);
  std::vector<char> taken(n, 0);
  bool numbered = true;
  for (std::size_t node = 0; node < n; ++node) {
    const std::string& name = boost::get(boost::vertex_name, graph, node);
    const bool digits =
        !name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == std::string::npos;
    const std::size_t number = digits ? std::stoul(name) : n;
    numbered = numbered && number < n && !taken[number];
    if (!numbered) break;
    taken[number] = 1;
    by_name[node] = static_cast<int>(number);
  }
  return numbered ? by_name : in_order;
}

struct FileGraphOptions {
  std::string path;

  void fields(Fields& f) {
    f.text(
         "path", path,
         "File of the graph (.graphml, .xml, .dot or .gv), found like a file of `use`. Nodes named 0 to P - 1 are these ranks; other names are numbered in order")
        .required();
  }
};

GraphShape make_from_file(const FileGraphOptions& options, const GraphRequest& request) {
  const FileGraph graph = read(request.find_file ? request.find_file(options.path) : options.path);
  const auto nodes = static_cast<int>(boost::num_vertices(graph));
  if (nodes != request.workers)
    refuse("has " + std::to_string(nodes) + " nodes for " + std::to_string(request.workers) + " workers",
           "Set /cluster/workers to " + std::to_string(nodes) + ", or use another graph");
  const std::vector<int> worker = workers_of(graph);
  GraphShape shape;
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
    const int a = worker[boost::source(*edge, graph)], b = worker[boost::target(*edge, graph)];
    if (a == b)
      refuse(
          "joins node " + boost::get(boost::vertex_name, graph, boost::source(*edge, graph)) + " to itself",
          "Remove that edge: a worker's own weight is 1 minus the weights of its neighbours");
    shape.edges.emplace_back(a, b);
  }
  return shape;
}

}  // namespace

std::vector<GraphPlugin> file() {
  return {{{.name = "file", .summary = "any undirected graph, from a GraphML or DOT file", .citation = ""},
           make_from_file}};
}

}  // namespace simsgd::graphs
