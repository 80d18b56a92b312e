// Graphs from files, and what is refused.
#include <doctest/doctest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/topologies/graphs.hpp"

namespace simsgd::test::topologies_graphs_files {

namespace {

// A file of a test, removed afterwards.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& ending, const std::string& text) {
    std::string pattern = "/tmp/simsgd-graph-XXXXXX" + ending;
    close(mkstemps(pattern.data(), static_cast<int>(ending.size())));
    path_ = pattern;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  Json parameters() const { return {{"path", path_}}; }

 private:
  std::string path_;
};

constexpr const char* kGraphMl = R"(<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <graph id="G" edgedefault="undirected">
    <node id="a"/><node id="b"/><node id="c"/>
    <edge source="a" target="b"/><edge source="b" target="c"/>
  </graph>
</graphml>
)";

}  // namespace

TEST_CASE("a DOT file: nodes named 0 to P - 1 are these workers, edges written twice count once") {
  const TemporaryFile file(".dot", "graph { 3 -- 1; 1 -- 0; 0 -- 2; 2 -- 0 }");
  const LogicalGraph path = graph_of("file", 4, file.parameters());
  CHECK(path.edges == std::vector<LogicalGraph::Edge>{{0, 1}, {0, 2}, {1, 3}});
  // A path of four: 2 - 2 cos(pi k / 4).
  CHECK(path.algebraic_connectivity() == doctest::Approx(2 - std::sqrt(2.0)).epsilon(1e-9));
  CHECK(path.matchings.size() == 2);
}

TEST_CASE("a GraphML file: other nodes are workers in the order of the file") {
  const TemporaryFile file(".graphml", kGraphMl);
  CHECK(graph_of("file", 3, file.parameters()).edges == std::vector<LogicalGraph::Edge>{{0, 1}, {1, 2}});
}

TEST_CASE("what was drawn can be read again") {
  const LogicalGraph paper = graph_of("matcha8", 8);
  const TemporaryFile file(".gv", to_dot(paper));
  CHECK(graph_of("file", 8, file.parameters()).edges == paper.edges);
}

TEST_CASE("files that are not a graph of these workers are refused with the remedy") {
  const TemporaryFile four(".dot", "graph { 0 -- 1 -- 2 -- 3 -- 0 }");
  CHECK(graph_refusal("file", 8, four.parameters()) ==
        "/path: has 4 nodes for 8 workers. Set /cluster/workers to 4, or use another graph");
  const TemporaryFile directed(".dot", "digraph { 0 -> 1 }");
  CHECK(
      graph_refusal("file", 2, directed.parameters()) ==
      "/path: is a directed graph, and averages are mutual. Write graph { a -- b }, not digraph { a -> b }");
  const TemporaryFile loop(".dot", "graph { 0 -- 1; 1 -- 1 }");
  CHECK(graph_refusal("file", 2, loop.parameters()) ==
        "/path: joins node 1 to itself. Remove that edge: a worker's own weight is what the others leave");
  const TemporaryFile other(".json", "{}");
  CHECK(graph_refusal("file", 2, other.parameters()) ==
        "/path: is neither GraphML nor DOT by its name. Name the file .graphml, .xml, .dot or .gv");
  CHECK(graph_refusal("file", 2, {{"path", "/no/such/graph.dot"}}) ==
        "/path: cannot be read. Write the path of a GraphML or DOT file");
  const TemporaryFile broken(".dot", "graph { 0 -- ");
  CHECK(graph_refusal("file", 2, broken.parameters()).starts_with("/path: cannot be understood: "));
}

TEST_CASE("graphs that are not connected are refused with the remedy") {
  const TemporaryFile apart(".dot", "graph { 0 -- 1; 2 -- 3 }");
  CHECK(
      graph_refusal("file", 4, apart.parameters()) ==
      "/name: is not connected: there are workers without a way to worker 0, so the models never agree. Add edges until every worker can be reached");
  const TemporaryFile alone(".dot", "graph { 0 -- 1; 2 }");
  CHECK(
      graph_refusal("file", 3, alone.parameters()) ==
      "/name: is not connected: worker 2 has no neighbour, so the models never agree. Add edges until every worker can be reached");
  CHECK(
      graph_refusal("erdos_renyi", 8, {{"probability", 0}}) ==
      "/name: is not connected: worker 0 has no neighbour, so the models never agree. Raise the probability, or change the seed");
}

TEST_CASE("numbers of workers that a graph cannot have are refused with the remedy") {
  CHECK(
      graph_refusal("hypercube", 12) ==
      "/name: needs a number of workers that is a power of two, not 12. Use 8 or 16 workers, or the graph exponential");
  CHECK(
      graph_refusal("torus", 7) ==
      "/name: cannot have two rows of several of 7 workers. Use a number of workers that is not a prime, or the graph ring");
  CHECK(graph_refusal("torus", 12, {{"rows", 5}}) ==
        "/rows: does not divide 12 workers into rows of at least two. Leave it out for 3, the most square");
  CHECK(graph_refusal("matcha8", 4) ==
        "/name: has 8 workers, and there are 4. Use 8 workers, or another graph of `simsgd list graphs`");
}

}  // namespace simsgd::test::topologies_graphs_files
