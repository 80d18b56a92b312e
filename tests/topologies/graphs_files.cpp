// Graphs from files; what is refused of them: tests/cli/transcripts/graphs.txt.
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

}  // namespace simsgd::test::topologies_graphs_files
