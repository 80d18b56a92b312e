#include "graph.hpp"

namespace simsgd::test::topologies_star {

using Names = std::vector<std::string>;

TEST_CASE("a message between two nodes of a star takes alpha + m / bandwidth of the NIC") {
  const Network star = make("star", plain_nodes(16));
  CHECK(star.endpoints == 16);
  CHECK(star.links.size() == 32);  // one GPU per node: NIC links alone
  CHECK(star.topology == "star");
  const PathCost cost = star.path_cost(3, 12);
  CHECK(cost.alpha_s == 2e-6);  // 1 us + 1 us, exactly
  CHECK(cost.beta_s_per_byte == 1e-9);
  check_routes(star, 1);
}

TEST_CASE("inside a node a message uses the GPU links only, between nodes the NICs of its rails only") {
  const Network star = make("star", railed_nodes(3));
  CHECK(route_names(star, 1, 3) == Names{"gpu1.up", "gpu3.down"});
  CHECK(star.path_cost(1, 3).alpha_s == 1e-6);
  CHECK(star.path_cost(1, 3).beta_s_per_byte == 1e-11);
  // 4 GPUs on 2 rails: GPUs 0 and 1 use rail 0, GPUs 2 and 3 rail 1.
  CHECK(route_names(star, 1, 4) == Names{"node0.nic0.up", "node1.nic0.down"});
  CHECK(route_names(star, 2, 9) == Names{"node0.nic1.up", "node2.nic0.down"});
  CHECK(star.path_cost(2, 9).alpha_s == 2e-6);
  check_routes(star, 4);
}

TEST_CASE("GPUs spread over rails that do not divide them: GPU g uses NIC g * nics / gpus") {
  NodeShape shape = railed_nodes(2);
  shape.nics = 3;  // 0, 0.75, 1.5, 2.25 -> rails 0, 0, 1, 2
  const Network star = make("star", shape);
  const Names up = {"node0.nic0.up", "node0.nic0.up", "node0.nic1.up", "node0.nic2.up"};
  for (int gpu = 0; gpu < 4; ++gpu)
    CHECK(route_names(star, gpu, 4).front() == up[static_cast<std::size_t>(gpu)]);
}

TEST_CASE("the links that a star shares are those of one sender or one receiver") {
  const Network star = make("star", plain_nodes(4));
  CHECK(busiest_in_ring(star, {0, 1, 2, 3}, "nic") == 1);
  CHECK(busiest_in_ring(star, {2, 0, 3, 1}, "nic") == 1);
}

TEST_CASE("a route from an endpoint to itself, or out of the network, is a defect") {
  const Network star = make("star", plain_nodes(4));
  std::vector<LinkId> path;
  CHECK_THROWS_AS(star.route(2, 2, path), std::logic_error);
  CHECK_THROWS_AS(star.route(0, 4, path), std::logic_error);
  CHECK_THROWS_AS(star.route(-1, 0, path), std::logic_error);
}

}  // namespace simsgd::test::topologies_star
