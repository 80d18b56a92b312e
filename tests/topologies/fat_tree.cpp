#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <numeric>

#include "graph.hpp"
#include "sim/collectives/plan.hpp"
#include "sim/collectives/schedules.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::topologies_fat_tree {

using Names = std::vector<std::string>;

TEST_CASE("a fat tree crosses three switches between leaves and one inside a leaf") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}, {"switch_latency", "1 us"}});
  CHECK(tree.vertices == 16 + 16 + 4 + 4);
  CHECK(tree.path_cost(0, 3).alpha_s == 2e-6);
  CHECK(tree.path_cost(0, 4).alpha_s == doctest::Approx(4e-6).epsilon(1e-12));
  CHECK(tree.path_cost(0, 4).beta_s_per_byte == 1e-9);
  check_routes(tree, 1);
  check_routes(make("fat_tree", railed_nodes(6), {{"leaf_nodes", 2}}), 4);
}

TEST_CASE("the spine is the destination's NIC modulo the spines") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}});
  CHECK(route_names(tree, 0, 5) ==
        Names{"node0.nic0.up", "leaf0.spine1.up", "leaf1.spine1.down", "node5.nic0.down"});
  CHECK(route_names(tree, 9, 5) ==
        Names{"node9.nic0.up", "leaf2.spine1.up", "leaf1.spine1.down", "node5.nic0.down"});
}

TEST_CASE("d-mod-k routes every shift of a 1:1 fat tree without two messages on a link (Zahavi 2010)") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}});
  for (int shift = 1; shift < 16; ++shift) {
    CAPTURE(shift);
    std::vector<int> messages(tree.links.size(), 0);
    for (int from = 0; from < 16; ++from)
      for (const LinkId id : route(tree, from, (from + shift) % 16))
        CHECK(++messages[static_cast<std::size_t>(id)] == 1);
  }
}

TEST_CASE("4:1, two leaves of four nodes: one message on the uplink in node order, four when all cross") {
  // One spine; the uplink is 4 x 1 GB/s / 4 = 1 GB/s.
  const Network tree = make("fat_tree", plain_nodes(8), {{"leaf_nodes", 4}, {"oversubscription", 4}});
  CHECK(tree.vertices == 8 + 8 + 2 + 1);
  CHECK(tree.path_cost(0, 4).beta_s_per_byte == doctest::Approx(1e-9));
  CHECK(busiest_in_ring(tree, {0, 1, 2, 3, 4, 5, 6, 7}, "leaf") == 1);  // 3 -> 4 and 7 -> 0
  CHECK(busiest_in_ring(tree, {0, 4, 1, 5, 2, 6, 3, 7}, "leaf") == 4);  // every edge crosses
  // A shuffled order: 6-2 2-7 7-0 0-3 3-5 5-1 1-4 4-6. Up from leaf 0: 2-7, 3-5, 1-4; from leaf 1: 6-2, 7-0,
  // 5-1. Three each.
  CHECK(busiest_in_ring(tree, {6, 2, 7, 0, 3, 5, 1, 4}, "leaf") == 3);
}

TEST_CASE("static routing collides where the destinations agree modulo the spines") {
  // 2 spines. From leaf 0: 0 -> 4 and 1 -> 6 both take spine 0; 1 -> 5 would take spine 1.
  const Network tree = make("fat_tree", plain_nodes(8), {{"leaf_nodes", 4}, {"oversubscription", 2}});
  CHECK(route(tree, 0, 4)[1] == route(tree, 1, 6)[1]);
  CHECK(route(tree, 0, 4)[1] != route(tree, 1, 5)[1]);
}

TEST_CASE("with `spines` the uplinks share out the leaf's bandwidth") {
  // 16 nodes at 1 GB/s over 4 spines, 2:1: 16 / (2 x 4) = 2 GB/s each.
  const Network tree = make("fat_tree", plain_nodes(32), {{"spines", 4}, {"oversubscription", 2}});
  CHECK(link(tree, route(tree, 0, 16)[1]).bandwidth_Bps == doctest::Approx(2e9));
  CHECK(tree.path_cost(0, 16).beta_s_per_byte == 1e-9);  // the NIC is the narrowest
}

TEST_CASE("four racks, 3:1: what leaves a rack shares a third of what its nodes can send") {
  // 16 nodes at 1 GB/s, 4 in a rack: 4 / 3 GB/s for each rack, whatever divides by what.
  const Network tree = make("fat_tree", plain_nodes(16), {{"racks", 4}, {"oversubscription", 3}});
  CHECK(tree.vertices == 16 + 16 + 4 + 1);
  CHECK(link(tree, route(tree, 0, 4)[1]).bandwidth_Bps == doctest::Approx(4e9 / 3));
  CHECK(route(tree, 0, 3).size() == 2);
  for (int rank = 0; rank < 4; ++rank)  // all that a rack sends takes one uplink
    CHECK(route(tree, rank, 4 + rank)[1] == route(tree, 0, 15)[1]);
  check_routes(tree, 1);
}

TEST_CASE("racks are filled evenly: 10 nodes in 4 racks are 3 + 2 + 3 + 2") {
  const Network tree = make("fat_tree", plain_nodes(10), {{"racks", 4}});
  std::map<LinkId, int> nodes_at;
  for (int node = 0; node < 10; ++node) {
    const int far = node < 5 ? 9 : 0;
    ++nodes_at[route(tree, node, far)[1]];
  }
  CHECK(nodes_at.size() == 4);
  for (const auto& each : nodes_at) CHECK((each.second == 2 || each.second == 3));
  CHECK(make("fat_tree", plain_nodes(10), {{"racks", 1}}).vertices == 10 + 10 + 1);
}

TEST_CASE("nodes of one leaf need no spine") {
  const Network tree = make("fat_tree", plain_nodes(16));
  CHECK(tree.vertices == 16 + 16 + 1);
  CHECK(tree.links.size() == 32);
}

// Hashed routes of a fat tree: where they go, how they load its uplinks, and what that costs.

namespace {

Network hashed(int nodes, int leaf_nodes, int seed, double oversubscription = 1) {
  return make("fat_tree", plain_nodes(nodes),
              {{"leaf_nodes", leaf_nodes},
               {"routing", "hashed"},
               {"seed", seed},
               {"oversubscription", oversubscription}});
}

/// The uplink of leaf 0 that a message takes.
LinkId uplink(const Network& tree, int from, int to) { return route(tree, from, to)[1]; }

/// The greatest load of S uplinks, when so many nodes of a leaf each send to one of another leaf.
int fullest(const Network& tree, int senders, int shift) {
  std::map<LinkId, int> load;
  int most = 0;
  for (int from = 0; from < senders; ++from)
    most = std::max(most, ++load[uplink(tree, from, senders + (from + shift) % senders)]);
  return most;
}

/// P(the fullest of `bins` bins with `balls` balls has at most `most`) = balls! / bins^balls [x^balls]
/// (sum_{i
/// <= most} x^i / i!)^bins: exactly, without a draw.
double probability_at_most(int bins, int balls, int most) {
  std::vector<double> ways(static_cast<std::size_t>(balls) + 1, 0.0);
  ways[0] = 1;
  for (int bin = 0; bin < bins; ++bin) {
    std::vector<double> next(ways.size(), 0.0);
    for (int before = 0; before <= balls; ++before)
      for (int i = 0; i <= most && before + i <= balls; ++i)
        next[static_cast<std::size_t>(before) + static_cast<std::size_t>(i)] +=
            ways[static_cast<std::size_t>(before)] / std::tgamma(i + 1.0);
    ways = next;
  }
  return ways.back() * std::tgamma(balls + 1.0) / std::pow(bins, balls);
}

Cluster cluster_of(Network network) {
  Cluster cluster;
  cluster.nodes = network.endpoints;
  cluster.endpoint_of_rank.resize(static_cast<std::size_t>(network.endpoints));
  std::iota(cluster.endpoint_of_rank.begin(), cluster.endpoint_of_rank.end(), 0);
  cluster.network = std::move(network);
  return cluster;
}

/// Two leaves of four nodes, 2 spines; a seed for which 0 -> 4 and 1 -> 5 meet, or do not.
int seed_where(bool meet) {
  for (int seed = 1; seed < 100; ++seed) {
    const Network tree = hashed(8, 4, seed, 2);
    if ((uplink(tree, 0, 4) == uplink(tree, 1, 5)) == meet) return seed;
  }
  return 0;
}

}  // namespace

TEST_CASE("hashed routes are as short as static ones, and inside a leaf the same") {
  check_routes(hashed(16, 4, 1), 1);
  check_routes(make("fat_tree", railed_nodes(6), {{"leaf_nodes", 2}, {"routing", "hashed"}}), 4);
  const Network tree = hashed(16, 4, 3), still = make("fat_tree", plain_nodes(16), {{"leaf_nodes", 4}});
  CHECK(route(tree, 0, 3) == route(still, 0, 3));
}

TEST_CASE("the routes of a seed are the same at every call and in every network; another seed has others") {
  const Network one = hashed(64, 8, 7), again = hashed(64, 8, 7), other = hashed(64, 8, 8);
  int changed = 0;
  for (int from = 0; from < 64; ++from)
    for (int to = 0; to < 64; ++to) {
      if (from == to) continue;
      CHECK(route(one, from, to) == route(again, from, to));
      CHECK(route(one, from, to) == route(one, from, to));
      changed += route(one, from, to) != route(other, from, to);
    }
  // 64 x 56 pairs of different leaves; 1 of 8 spines is the same by chance: 3136 +- 20.
  CHECK(std::abs(changed - 3136) < 100);
  const Network standard = make("fat_tree", plain_nodes(64), {{"leaf_nodes", 8}, {"routing", "hashed"}});
  const Network first = hashed(64, 8, 1);
  CHECK(route(standard, 3, 60) == route(first, 3, 60));
}

TEST_CASE("where there is no choice hashed routes are the static ones") {
  const Network tree = make("fat_tree", plain_nodes(16), {{"racks", 4}, {"routing", "hashed"}});
  const Network still = make("fat_tree", plain_nodes(16), {{"racks", 4}});
  for (int to = 1; to < 16; ++to) CHECK(route(tree, 0, to) == route(still, 0, to));
}

TEST_CASE("pairs fall on 16 spines as balls into bins: every spine alike, there and back apart") {
  const Network tree = hashed(256, 16, 1);
  std::map<LinkId, int> load;
  int same_back = 0, pairs = 0;
  for (int from = 0; from < 16; ++from)
    for (int to = 16; to < 256; ++to, ++pairs) {
      ++load[uplink(tree, from, to)];
      // Uplinks are numbered leaf by leaf, spine by spine.
      const auto spine = [&](int a, int b) { return link(tree, uplink(tree, a, b)).to_vertex; };
      same_back += spine(from, to) == spine(to, from);
    }
  double chi_squared = 0;
  for (const auto& each : load) chi_squared += std::pow(each.second - 240.0, 2) / 240;
  CHECK(load.size() == 16);
  CHECK(chi_squared < 37.7);  // 15 degrees of freedom: 0.1 % lie above
  CHECK(chi_squared > 3.48);  // and 0.1 % below: no even spread either
  CHECK(std::abs(same_back - pairs / 16.0) < 4 * std::sqrt(pairs / 16.0));
}

TEST_CASE("the fullest of 16 uplinks under 16 flows is that of 16 bins with 16 balls, not 1") {
  // Over 1500 seeds: shares of the fullest uplink having at most 1 to 5 flows, within 4 standard errors.
  constexpr int kSeeds = 1500;
  std::map<int, int> at_most;
  for (int seed = 1; seed <= kSeeds; ++seed)
    for (int most = fullest(hashed(32, 16, seed), 16, seed % 16); most <= 16; ++most) ++at_most[most];
  for (int most = 1; most <= 5; ++most) {
    CAPTURE(most);
    const double expected = probability_at_most(16, 16, most);
    const double error = std::sqrt(expected * (1 - expected) / kSeeds) + 1e-9;
    CHECK(std::abs(at_most[most] / double{kSeeds} - expected) < 4 * error + 0.5 / kSeeds);
  }
  CHECK(fullest(make("fat_tree", plain_nodes(32), {{"leaf_nodes", 16}}), 16, 3) == 1);
}

TEST_CASE("two flows on one uplink take twice as long, at flows and at messages, and the plan knows") {
  // Uplinks of 1 GB/s; 0 -> 4 and 1 -> 5 send 1 GB each: 1 s, or 2 s where their spine is the same.
  for (const bool meet : {false, true}) {
    const int seed = seed_where(meet);
    REQUIRE(seed > 0);
    CAPTURE(meet);
    Schedule schedule;
    schedule.name = "test";
    schedule.ranks = 8;
    schedule.stages = {make_stage({4, 5, -1, -1, -1, -1, -1, -1}, 1e9, 0)};
    const Cluster cluster = cluster_of(hashed(8, 4, seed, 2));
    std::vector<int> ranks(8);
    std::iota(ranks.begin(), ranks.end(), 0);
    const Plan plan(schedule, cluster, ranks, 1e9);
    CHECK(plan.sharing().dedicated == !meet);
    CHECK(plan.sharing().most_flows == (meet ? 2 : 1));
    CHECK(plan.choose(Fidelity::automatic, false).fidelity ==
          (meet ? Fidelity::messages : plan.choose(Fidelity::automatic, false).fidelity));
    CHECK(plan.choose(Fidelity::closed, false).exact == !meet);
    CHECK(plan.contended_time_s() == doctest::Approx(meet ? 2 : 1).epsilon(1e-5));
    for (const Fidelity fidelity : {Fidelity::flows, Fidelity::messages}) {
      std::vector<double> ends(8);
      Job job = scripted_job(hashed(8, 4, seed, 2), [&](Worker& worker) {
        CustomCollective collective;
        collective.bytes = 1e9;
        collective.messages = std::make_shared<const Schedule>(schedule);
        while (worker.next_step()) {
          worker.wait(worker.collectives().start(collective));
          ends[static_cast<std::size_t>(worker.rank())] = worker.now();
        }
      });
      job.network.fidelity = fidelity;
      simulate_job(job);
      CHECK(ends[4] == doctest::Approx(meet ? 2 : 1).epsilon(1e-5));
      CHECK(ends[5] == doctest::Approx(meet ? 2 : 1).epsilon(1e-5));
    }
  }
}

TEST_CASE("hashed routing writes its seed down") {
  Json options = {{"routing", "hashed"}};
  plugin("fat_tree").complete(options, plain_nodes(64));
  CHECK(options["seed"] == 1);
  Json still = Json::object();
  plugin("fat_tree").complete(still, plain_nodes(64));
  CHECK(!still.contains("seed"));
  CHECK(still["routing"] == "d_mod_k");
}

}  // namespace simsgd::test::topologies_fat_tree
