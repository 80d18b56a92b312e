// Edge colourings: every graph's edges as matchings.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/topologies/graphs.hpp"
#include "topologies/graphs/graph.hpp"

namespace simsgd::test::topologies_graphs_matchings {

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

}  // namespace simsgd::test::topologies_graphs_matchings
