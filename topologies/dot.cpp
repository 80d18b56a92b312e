// DOT, the language of Graphviz, read by Boost.Graph: an undirected graph, each edge a full-duplex cable.
//   graph { node [type=switch]; h0 [type=host]; h0 -- s [bandwidth="25 Gbps", latency="1 us"] }
// type: host or switch (default); bandwidth is required, latency 0 by default; units or SI. Other attributes
// are ignored. `simsgd list topologies NAME --dot` writes such files. Routes and checks: network_file.hpp.
// Tests: tests/topologies/network_files.cpp.
#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <cstring>
#include <numeric>
#include <set>
#include <sstream>

#include "topologies/network_file.hpp"

namespace simsgd::topologies {

namespace {

// Boost's reader calls itself for each brace.
constexpr std::ptrdiff_t kMostBraces = 1000;

struct DotVertex {
  std::string name, type;
};
struct DotEdge {
  std::string bandwidth, latency;
};
using DotGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, DotVertex, DotEdge>;

/// Whether DOT has cut a number before its exponent: bandwidth=1e9 is 1, and an attribute e9.
bool is_exponent(const std::string& attribute) {
  return attribute.size() > 1 && (attribute[0] == 'e' || attribute[0] == 'E') &&
         attribute.find_first_not_of("0123456789", 1) == std::string::npos;
}

DotGraph parse_dot(const std::string& text, FileErrors& errors) {
  if (std::count(text.begin(), text.end(), '{') > kMostBraces)
    errors.refuse(0, "has more than " + std::to_string(kMostBraces) + " braces",
                  "Write the network without subgraphs or record labels");
  DotGraph graph;
  std::set<std::string> exponents;
  boost::dynamic_properties properties([&](const std::string& attribute, const auto&, const auto&) {
    if (is_exponent(attribute)) exponents.insert(attribute);
    return boost::shared_ptr<boost::dynamic_property_map>();  // ignored
  });
  properties.property("node_id", boost::get(&DotVertex::name, graph));
  properties.property("type", boost::get(&DotVertex::type, graph));
  properties.property("bandwidth", boost::get(&DotEdge::bandwidth, graph));
  properties.property("latency", boost::get(&DotEdge::latency, graph));
  std::istringstream stream(text);
  try {
    boost::read_graphviz(stream, graph, properties);
  } catch (const boost::directed_graph_error&) {
    errors.refuse(0, "is a directed graph, but cables go both ways",
                  "Write graph { a -- b }, not digraph { a -> b }");
  } catch (const std::exception& error) {
    errors.refuse(0, std::string("cannot be parsed: ") + error.what(),
                  "Write DOT, such as graph { h0 [type=host]; h0 -- s [bandwidth=\"25 Gbps\"] }");
  }
  for (const std::string& exponent : exponents)
    errors.add(0, "has a number with an exponent outside quotation marks, which DOT cuts off", exponent,
               "Write \"1" + exponent + "\"");
  return graph;
}

FileNetwork read_dot(const std::string& text, FileErrors& errors) {
  const DotGraph graph = parse_dot(text, errors);
  FileNetwork file;
  // Boost sorts names as text, h10 before h2.
  std::vector<std::size_t> order(boost::num_vertices(graph));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return strverscmp(graph[a].name.c_str(), graph[b].name.c_str()) < 0;
  });
  std::vector<int> place(order.size());
  for (const std::size_t v : order) {
    place[v] = static_cast<int>(file.vertices.size());
    file.vertices.push_back({graph[v].name, host_of(graph[v].type, graph[v].name, 0, errors), 0});
  }
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
    const int a = place[boost::source(*edge, graph)], b = place[boost::target(*edge, graph)];
    const std::string& from = file.vertices[static_cast<std::size_t>(a)].name;
    const std::string cable = from + " -- " + file.vertices[static_cast<std::size_t>(b)].name;
    const DotEdge& values = graph[*edge];
    const double bandwidth_Bps = bandwidth_of(values.bandwidth, "bandwidth of " + cable, 0, errors);
    const double latency_s = latency_of(values.latency, "latency of " + cable, 0, errors);
    if (a == b)
      errors.add(0, "joins a vertex to itself", cable, "Remove that edge");
    else
      file.add_cable(a, b, bandwidth_Bps, latency_s);
  }
  return file;
}

Network make_dot(const NetworkFileOptions& options, const NodeShape& shape) {
  FileErrors errors(find_network_file(options.path, shape));
  FileNetwork file = read_dot(network_file_text(errors.path()), errors);
  return network_of("dot", std::move(file), options.hosts_forward, shape, errors);
}

}  // namespace

std::vector<TopologyPlugin> dot() {
  return {
      {{.name = "dot",
        .summary = "any network of cables, from a Graphviz file with bandwidths and hosts",
        .citation =
            "Gansner, North, Softw. Pract. Exper. 30, 2000, doi 10.1002/1097-024X(200009)30:11<1203::AID-SPE338>3.0.CO;2-N"},
       make_dot}};
}

}  // namespace simsgd::topologies
