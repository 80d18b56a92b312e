// Torus, rails and networks from files in simulations: the fidelities agree where links are not shared, and
// messages that meet share what a hand count of their routes says.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/jobs.hpp"
#include "topologies/topology.hpp"

namespace simsgd::test::engine_networks {

namespace {

constexpr double kBytes = 8e6, kBps = 1e9, kNic_s = 2e-6, kSwitch_s = 1e-6;

Network network(const Json& topology, const NodeShape& shape) { return make_network(topology, shape); }

NodeShape nodes(int count) {
  NodeShape shape;
  shape.nodes = count;
  shape.nic_Bps = kBps;
  shape.nic_latency_s = kNic_s;
  return shape;
}

/// When the last of all ranks has ended one all-reduce.
double time_of(const Json& topology, const NodeShape& shape, Fidelity fidelity, const std::string& schedule) {
  std::vector<double> ends(static_cast<std::size_t>(shape.nodes * shape.gpus_per_node));
  Job job = scripted_job(network(topology, shape), [&](Worker& worker) {
    while (worker.next_step()) {
      worker.wait(worker.collectives().start(timed<AllReduce>(kBytes, schedule)));
      ends[static_cast<std::size_t>(worker.rank())] = worker.now();
    }
  });
  job.cluster.gpus_per_node = shape.gpus_per_node;
  job.cluster.nodes = shape.nodes;
  job.network.fidelity = fidelity;
  simulate_job(job);
  return *std::max_element(ends.begin(), ends.end());
}

}  // namespace

TEST_CASE("a ring along a torus, or along a rail, shares no link: every fidelity gives the closed form") {
  const Json torus = {{"name", "torus"}, {"dimensions", {8}}, {"switch_latency", kSwitch_s}};
  const Json rails = {{"name", "rails"}};
  const Json file = {{"name", "dot"}, {"path", SIMSGD_SOURCE_DIR "/scenarios/networks/two-racks.dot"}};
  for (const Fidelity fidelity : {Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
    CAPTURE(fidelity_name(fidelity));
    // 2 (P - 1) steps of m / P bytes: 14 of 1 MB, each over one cable.
    CHECK(time_of(torus, nodes(8), fidelity, "ring") ==
          doctest::Approx(14 * (kNic_s + kSwitch_s + 1e6 / kBps)).epsilon(1e-9));
    CHECK(time_of(rails, nodes(8), fidelity, "ring") ==
          doctest::Approx(14 * (kNic_s + 1e6 / kBps)).epsilon(1e-9));
    // Nodes 3 to 4 and 7 to 0 take both spines' cables, the others stay in their rack: the way through a
    // spine is 4 us longer than the 2 us inside a rack, and a step waits for the longest.
    if (fidelity != Fidelity::closed)
      CHECK(time_of(file, nodes(8), fidelity, "ring") ==
            doctest::Approx(14 * (kNic_s + 6e-6 + 1e6 / kBps)).epsilon(1e-9));
  }
}

TEST_CASE("two sites: a ring crosses each way once, recursive doubling shares the slow link among four") {
  const Json link = {{"between", {"a", "b"}}, {"bandwidth", "100 MB/s"}, {"latency", 0.03}};
  const Json sites = {{"name", "sites"}, {"sites", {{{"name", "a"}}, {{"name", "b"}}}}, {"links", {link}}};
  CHECK(time_of(sites, nodes(8), Fidelity::messages, "ring") ==
        doctest::Approx(14 * (kNic_s + 0.03 + 1e6 / 1e8)).epsilon(1e-9));
  CHECK(time_of(sites, nodes(8), Fidelity::messages, "recursive_doubling") ==
        doctest::Approx(2 * (kNic_s + kBytes / kBps) + kNic_s + 0.03 + 4 * kBytes / 1e8).epsilon(1e-9));
  Json windows = sites;
  windows["tcp_window"] =
      30e3;  // half a megabyte a second for each of the four, who then do not fill the link
  CHECK(time_of(windows, nodes(8), Fidelity::messages, "recursive_doubling") ==
        doctest::Approx(2 * (kNic_s + kBytes / kBps) + kNic_s + 0.03 + kBytes * 2 * (kNic_s + 0.03) / 30e3)
            .epsilon(1e-9));
}

TEST_CASE(
    "recursive doubling on a ring of 8: partners 2 and 4 apart share each cable with one other message") {
  // Distances 1, 2, 4. At 4 even routers send upwards and odd ones downwards: two messages a cable each way.
  const Json torus = {{"name", "torus"}, {"dimensions", {8}}, {"switch_latency", kSwitch_s}};
  const double expected = 3 * kNic_s + (1 + 2 + 4) * kSwitch_s + (1 + 2 + 2) * kBytes / kBps;
  for (const Fidelity fidelity : {Fidelity::flows, Fidelity::messages})
    CHECK(time_of(torus, nodes(8), fidelity, "recursive_doubling") ==
          doctest::Approx(expected).epsilon(1e-9));
  // In 2 x 2 x 2 routers every partner is a neighbour, and nothing is shared.
  const Json cube = {{"name", "torus"}, {"dimensions", {2, 2, 2}}, {"switch_latency", kSwitch_s}};
  CHECK(time_of(cube, nodes(8), Fidelity::messages, "recursive_doubling") ==
        doctest::Approx(3 * (kNic_s + kSwitch_s + kBytes / kBps)).epsilon(1e-9));
}

}  // namespace simsgd::test::engine_networks
