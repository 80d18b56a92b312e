// Edge colourings: every graph's edges as matchings.
#include <doctest/doctest.h>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numbers>
#include <set>

#include "algorithms/mixing.hpp"
#include "tests/topologies/graphs.hpp"
#include "topologies/graphs/graph.hpp"

namespace simsgd::test::topologies_graphs {

namespace {

/// Every edge in exactly one matching, and no worker twice in one.
void check_proper(const LogicalGraph& graph, const std::vector<std::vector<LogicalGraph::Edge>>& matchings) {
  std::vector<LogicalGraph::Edge> all;
  for (const auto& matching : matchings) {
    std::set<int> seen;
    CHECK(!matching.empty());
    for (const auto& [a, b] : matching) {
      CHECK(seen.insert(a).second);
      CHECK(seen.insert(b).second);
      all.emplace_back(a, b);
    }
  }
  std::sort(all.begin(), all.end());
  CHECK(all == graph.edges);
}

}  // namespace

TEST_CASE("matchings are proper, and at most one more than the greatest degree, on random graphs") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const int workers = 4 + static_cast<int>(seed % 29);
    CAPTURE(seed);
    CAPTURE(workers);
    LogicalGraph random;
    try {
      random =
          graph_of("erdos_renyi", workers, {{"probability", 0.1 + 0.014 * static_cast<double>(seed)}}, seed);
    } catch (const ParameterError&) {
      continue;  // not connected
    }
    check_proper(random, random.matchings);
    CHECK(static_cast<int>(random.matchings.size()) >= random.max_degree());
    CHECK(static_cast<int>(random.matchings.size()) <= random.max_degree() + 1);
  }
}

TEST_CASE("bipartite graphs have as many matchings as their greatest degree") {
  for (const LogicalGraph& each : {graph_of("ring", 10), graph_of("hypercube", 32), graph_of("torus", 24),
                                   graph_of("torus", 64, {{"rows", 8}}), graph_of("ring", 2)}) {
    CAPTURE(each.name);
    REQUIRE_FALSE(each.sides().empty());
    check_proper(each, find_matchings(each));
    CHECK(static_cast<int>(find_matchings(each).size()) == each.max_degree());
    check_proper(each, each.matchings);
    CHECK(static_cast<int>(each.matchings.size()) == each.max_degree());
  }
}

TEST_CASE("an odd ring needs three matchings, a complete graph P - 1 or P") {
  CHECK(graph_of("ring", 7).matchings.size() == 3);
  CHECK(graph_of("complete", 8).matchings.size() == 7);
  CHECK(graph_of("complete", 7).matchings.size() == 7);
  for (const LogicalGraph& each : {graph_of("ring", 7), graph_of("complete", 8), graph_of("complete", 7),
                                   graph_of("exponential", 13), graph_of("matcha8", 8)})
    check_proper(each, each.matchings);
}

TEST_CASE("the sides of a bipartite graph alternate; a cycle of odd length leaves none") {
  CHECK(graph_of("ring", 4).sides() == std::vector<char>{0, 1, 0, 1});
  CHECK(graph_of("hypercube", 8).sides() == std::vector<char>{0, 1, 1, 0, 1, 0, 0, 1});
  CHECK(graph_of("ring", 5).sides().empty());
  CHECK(graph_of("complete", 3).sides().empty());
  CHECK(graph_of("exponential", 8).sides().empty());
}

TEST_CASE("a graph is drawn with one colour per matching") {
  CHECK(to_dot(graph_of("ring", 4)) ==
        "graph \"ring\" {\n"
        "  layout=circo;\n"
        "  node [shape=circle];\n"
        "  0;\n  1;\n  2;\n  3;\n"
        "  0 -- 1 [color=\"0.000 0.8 0.7\", matching=0];\n"
        "  2 -- 3 [color=\"0.000 0.8 0.7\", matching=0];\n"
        "  0 -- 3 [color=\"0.500 0.8 0.7\", matching=1];\n"
        "  1 -- 2 [color=\"0.500 0.8 0.7\", matching=1];\n"
        "}\n");
}

// Edges, Laplacian and spectral gap of logical graphs against closed forms.

namespace {

constexpr double kPi = std::numbers::pi;

void check_spectrum(const LogicalGraph& graph, std::vector<double> expected) {
  CAPTURE(graph.name);
  CAPTURE(graph.workers);
  std::sort(expected.begin(), expected.end());
  const std::vector<double> numeric = laplacian_eigenvalues(graph);
  REQUIRE(graph.laplacian_eigenvalues.size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CAPTURE(k);
    CHECK(graph.laplacian_eigenvalues[k] == doctest::Approx(expected[k]).epsilon(1e-9));
    CHECK(numeric[k] == doctest::Approx(expected[k]).epsilon(1e-9));
  }
}

}  // namespace

TEST_CASE("a ring: every worker has the one before and the one after it, eigenvalues 2 - 2 cos(2 pi k / P)") {
  CHECK(graph_of("ring", 5).neighbours ==
        std::vector<std::vector<int>>{{1, 4}, {0, 2}, {1, 3}, {2, 4}, {0, 3}});
  for (const int workers : {3, 4, 5, 16, 33}) {
    std::vector<double> expected;
    for (int k = 0; k < workers; ++k) expected.push_back(2 - 2 * std::cos(2 * kPi * k / workers));
    check_spectrum(graph_of("ring", workers), expected);
  }
  // Two workers have one edge, one worker has none.
  check_spectrum(graph_of("ring", 2), {0, 2});
  check_spectrum(graph_of("ring", 1), {0});
}

TEST_CASE("a torus: eigenvalues are all sums of one of the rows' cycle and one of the columns' cycle") {
  const LogicalGraph torus = graph_of("torus", 12, {{"rows", 3}});
  CHECK(torus.neighbours[0] == std::vector<int>{1, 3, 4, 8});
  std::vector<double> expected;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 4; ++b)
      expected.push_back(4 - 2 * std::cos(2 * kPi * a / 3) - 2 * std::cos(2 * kPi * b / 4));
  check_spectrum(torus, expected);
  // By default the most square: 4 x 6. A side of two has one edge for both directions: 2 x 2 is a ring.
  CHECK(graph_of("torus", 24).laplacian_eigenvalues ==
        graph_of("torus", 24, {{"rows", 4}}).laplacian_eigenvalues);
  CHECK(graph_of("torus", 4).edges == std::vector<LogicalGraph::Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  check_spectrum(graph_of("torus", 4), {0, 2, 2, 4});
}

TEST_CASE("a hypercube: eigenvalue 2 k occurs C(d, k) times") {
  CHECK(graph_of("hypercube", 8).neighbours[5] == std::vector<int>{1, 4, 7});
  check_spectrum(graph_of("hypercube", 8), {0, 2, 2, 2, 4, 4, 4, 6});
  check_spectrum(graph_of("hypercube", 16), {0, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 8});
}

TEST_CASE("a complete graph: eigenvalues 0 once and P otherwise") {
  check_spectrum(graph_of("complete", 5), {0, 5, 5, 5, 5});
  check_spectrum(graph_of("complete", 8), {0, 8, 8, 8, 8, 8, 8, 8});
}

TEST_CASE("an exponential graph: neighbours at 1, 2, 4, ..., eigenvalues a sum of cosines") {
  CHECK(graph_of("exponential", 8).neighbours[0] == std::vector<int>{1, 2, 4, 6, 7});
  CHECK(graph_of("exponential", 6).neighbours[0] == std::vector<int>{1, 2, 4, 5});
  // P = 8: distances 1 and 7, 2 and 6, 4 once.
  std::vector<double> expected;
  for (int k = 0; k < 8; ++k)
    expected.push_back(5 - 2 * std::cos(2 * kPi * k / 8) - 2 * std::cos(2 * kPi * k / 4) - std::cos(kPi * k));
  check_spectrum(graph_of("exponential", 8), expected);
}

TEST_CASE("an Erdos-Renyi graph is a function of the seed, and has the share of edges that was asked for") {
  const LogicalGraph one = graph_of("erdos_renyi", 40, {{"probability", 0.3}}, 5);
  CHECK(one.edges == graph_of("erdos_renyi", 40, {{"probability", 0.3}}, 5).edges);
  CHECK(one.edges != graph_of("erdos_renyi", 40, {{"probability", 0.3}}, 6).edges);
  // 780 pairs x 0.3 = 234 edges, standard deviation 12.8, over 20 seeds 2.9.
  double edges = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    edges += static_cast<double>(graph_of("erdos_renyi", 40, {{"probability", 0.3}}, seed).edges.size()) / 20;
  CHECK(std::fabs(edges - 234) < 4 * 2.9);
  CHECK(graph_of("erdos_renyi", 6, {{"probability", 1}}).edges == graph_of("complete", 6).edges);
  CHECK(one.laplacian_eigenvalues == laplacian_eigenvalues(one));
}

TEST_CASE("the graph of the MATCHA paper: 8 workers, 12 edges, five matchings, as printed") {
  const LogicalGraph paper = graph_of("matcha8", 8);
  using Edge = LogicalGraph::Edge;
  CHECK(paper.edges.size() == 12);
  CHECK(paper.max_degree() == 5);  // worker 1: 0, 2, 3, 5, 7
  CHECK(paper.matchings == std::vector<std::vector<Edge>>{{{0, 4}, {1, 5}, {2, 3}, {6, 7}},
                                                          {{1, 7}, {3, 6}},
                                                          {{0, 1}, {3, 7}, {5, 6}},
                                                          {{0, 7}, {1, 2}},
                                                          {{1, 3}}});
}

TEST_CASE("the spectral gap of D-PSGD's weights has its closed forms") {
  const auto metropolis = [](const LogicalGraph& of) { return spectral_gap(of, metropolis_weights(of)); };
  // A ring with a third each: W = I - L / 3, so rho = (1 + 2 cos(2 pi / P)) / 3.
  for (const int workers : {4, 8, 16, 64}) {
    CAPTURE(workers);
    CHECK(metropolis(graph_of("ring", workers)) ==
          doctest::Approx(2.0 / 3 * (1 - std::cos(2 * kPi / workers))).epsilon(1e-9));
  }
  // A hypercube of d dimensions, 1 / (d + 1) each: rho = 1 - 2 / (d + 1). A complete graph mixes at once.
  CHECK(metropolis(graph_of("hypercube", 16)) == doctest::Approx(2.0 / 5).epsilon(1e-9));
  CHECK(metropolis(graph_of("complete", 7)) == doctest::Approx(1).epsilon(1e-9));
  // A torus of 4 x 4, a fifth each: rho = (1 + 2 + 2 cos(pi / 2)) / 5 = 3 / 5.
  CHECK(metropolis(graph_of("torus", 16)) == doctest::Approx(2.0 / 5).epsilon(1e-9));
  // Exponential, 8 workers, a sixth each: (1 + 2 cos(pi k / 4) + 2 cos(pi k / 2) + cos(pi k)) / 6 is
  // sqrt(2) / 6 and -sqrt(2) / 6 for k = 1 and 3, 0 for k = 2, and 1 / 3 for k = 4.
  CHECK(metropolis(graph_of("exponential", 8)) == doctest::Approx(2.0 / 3).epsilon(1e-9));
}

TEST_CASE("the best alpha makes the gap of I - alpha L as large as it can be: 2 l2 / (l2 + ln)") {
  for (const char* name : {"ring", "torus", "hypercube", "exponential", "complete"}) {
    const LogicalGraph of = graph_of(name, 16);
    CAPTURE(name);
    const double alpha = best_laplacian_alpha(of), second = of.laplacian_eigenvalues[1],
                 last = of.laplacian_eigenvalues.back();
    const double gap = spectral_gap(of, laplacian_weights(of, alpha));
    CHECK(gap == doctest::Approx(2 * second / (second + last)).epsilon(1e-9));
    CHECK(gap >= spectral_gap(of, laplacian_weights(of, 0.99 * alpha)) - 1e-12);
    CHECK(gap >= spectral_gap(of, laplacian_weights(of, 1.01 * alpha)) - 1e-12);
    CHECK(gap >= spectral_gap(of, metropolis_weights(of)) - 1e-12);
  }
}

TEST_CASE("mixing weights are symmetric and every row sums to one, also where degrees differ") {
  for (const LogicalGraph& of :
       {graph_of("matcha8", 8), graph_of("erdos_renyi", 20, {{"probability", 0.4}})}) {
    const MixingWeights weights = metropolis_weights(of);
    for (int i = 0; i < of.workers; ++i) {
      const auto row = static_cast<std::size_t>(i);
      double sum = weights.own[row];
      CHECK(weights.own[row] > 0);
      for (std::size_t k = 0; k < of.neighbours[row].size(); ++k) {
        const auto other = static_cast<std::size_t>(of.neighbours[row][k]);
        sum += weights.neighbour[row][k];
        const auto back = std::find(of.neighbours[other].begin(), of.neighbours[other].end(), i);
        CHECK(weights.neighbour[row][k] ==
              weights.neighbour[other][static_cast<std::size_t>(back - of.neighbours[other].begin())]);
      }
      CHECK(sum == doctest::Approx(1).epsilon(1e-12));
    }
  }
}

// Graphs from files; what is refused of them: tests/cli/transcripts/graphs.txt.

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

}  // namespace simsgd::test::topologies_graphs
