// Logical graphs and groups that a scenario asks for and cannot have: the full text of every message; and the
// graph that a job gets.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_messages_graphs {

namespace {

std::string errors_of(int workers, const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["cluster"]["workers"] = workers;
  scenario["algorithm"] = algorithm;
  const Folder folder;
  folder.write("apart.dot", "graph { 0 -- 1; 2 -- 3 }");
  folder.write_json("s.json", scenario);
  return folder.errors("s.json");
}

LogicalGraph graph_of(const Json& algorithm) {
  Json scenario = small_scenario();
  scenario["algorithm"] = algorithm;
  const Folder folder;
  folder.write("star.dot", "graph { 2 -- 0; 2 -- 1; 2 -- 3 }");
  folder.write_json("s.json", scenario);
  return make_job(load_scenario(folder.path("s.json"), {})).graph;
}

}  // namespace

TEST_CASE("an algorithm gets the graph that it names, a ring if it names none, and none if it needs none") {
  using Edge = LogicalGraph::Edge;
  CHECK(graph_of({{"name", "d_psgd"}}).edges == std::vector<Edge>{{0, 1}, {0, 3}, {1, 2}, {2, 3}});
  CHECK(graph_of({{"name", "matcha"}, {"graph", {{"name", "complete"}}}}).edges.size() == 6);
  CHECK(graph_of({{"name", "ad_psgd"}, {"graph", {{"name", "file"}, {"path", "star.dot"}}}}).edges ==
        std::vector<Edge>{{0, 2}, {1, 2}, {2, 3}});
  CHECK(graph_of({{"name", "allreduce_sgd"}}).edges.empty());
}

TEST_CASE("a ring of an odd number of workers has no active and passive ones") {
  CHECK(
      errors_of(5, {{"name", "ad_psgd"}}) ==
      "s.json:/algorithm/graph/name: is a ring of 5 workers, an odd number: neighbours cannot be active and passive in turn, and averagings could deadlock. Found: \"ring\". Use an even number of workers.");
}

TEST_CASE("a graph that is not connected") {
  CHECK(
      errors_of(4, {{"name", "d_psgd"}, {"graph", {{"name", "file"}, {"path", "apart.dot"}}}}) ==
      "s.json:/algorithm/graph/name: is not connected: there are workers without a way to worker 0, so the models never agree. Found: \"file\". Add edges until every worker can be reached.");
  CHECK(
      errors_of(4, {{"name", "d_psgd"}, {"graph", {{"name", "erdos_renyi"}, {"probability", 0}}}}) ==
      "s.json:/algorithm/graph/name: is not connected: worker 0 has no neighbour, so the models never agree. Found: \"erdos_renyi\". Raise the probability, or change the seed.");
}

TEST_CASE("a graph that does not exist, or not with so many workers") {
  CHECK(
      errors_of(4, {{"name", "d_psgd"}, {"graph", {{"name", "rng"}}}}) ==
      "s.json:/algorithm/graph/name: is not valid here. Found: \"rng\". Did you mean \"ring\"? Valid are ring, torus, exponential, hypercube, complete, erdos_renyi, matcha8 or file.");
  CHECK(
      errors_of(6, {{"name", "d_psgd"}, {"graph", {{"name", "hypercube"}}}}) ==
      "s.json:/algorithm/graph/name: needs a number of workers that is a power of two, not 6. Found: \"hypercube\". Use 4 or 8 workers, or the graph exponential.");
}

TEST_CASE("groups need powers of two, and no more members than there are workers") {
  CHECK(
      errors_of(6, {{"name", "wagma"}}) ==
      "s.json:/algorithm/name: needs a power of two of workers, and there are 6. Found: \"wagma\". Use 4 or 8 workers.");
  CHECK(
      errors_of(4, {{"name", "wagma"}, {"group_size", 8}}) ==
      "s.json:/algorithm/group_size: is more than the 4 workers. Found: 8. Use a power of two up to 4, or leave it out.");
  CHECK(errors_of(4, {{"name", "wagma"}, {"group_size", 3}}) ==
        "s.json:/algorithm/group_size: is no power of two. Found: 3. Use 2 or 4.");
}

}  // namespace simsgd::test::scenarios_messages_graphs
