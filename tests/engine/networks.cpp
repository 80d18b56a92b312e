// Torus, rails and networks from files in simulations: the fidelities agree where links are not shared, and
// messages that meet share what a hand count of their routes says.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "sim/collectives/schedules.hpp"
#include "sim/engine/simgrid_time.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/support/in_child.hpp"
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

// Times of lone messages and of collectives on dedicated, equal links against their closed forms, at every
// fidelity.

namespace {

constexpr double kAlpha = 5e-6;
constexpr double kBandwidth = 25e9;

// Time of one collective that all ranks of a star start at 0.
double time_of(int ranks, Fidelity fidelity, const AnyCollective& collective) {
  Job job = scripted_job(star(ranks, kAlpha, kBandwidth), [&](Worker& worker) {
    while (worker.next_step()) run_any(worker, collective);
  });
  job.network.fidelity = fidelity;
  return simulate_job(job).end_s;
}

double message_time(double bytes, double alpha, double bandwidth) {
  Job job = scripted_job(star(2, alpha, bandwidth), [&](Worker& worker) {
    while (worker.next_step()) {
      Message message;
      message.bytes = bytes;
      if (worker.rank() == 0) worker.messages().send(1, 0, message);
      if (worker.rank() == 1) worker.messages().receive(0, 0);
    }
  });
  return simulate_job(job).end_s;
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::fabs(b); }

const Fidelity kFidelities[] = {Fidelity::closed, Fidelity::steps, Fidelity::flows, Fidelity::messages};

}  // namespace

TEST_CASE("a lone message takes alpha + m beta, from 0 B to 1 GB") {
  for (const double bytes : {0.0, 1.0, 1e3, 65536.0, 1e6, 1e9}) {
    CAPTURE(bytes);
    CHECK(close(message_time(bytes, 5e-6, 25e9), 5e-6 + bytes / 25e9));
    CHECK(close(message_time(bytes, 5e-6, 450e9), 5e-6 + bytes / 450e9));        // NVLink
    CHECK(close(message_time(bytes, 4.36e-4, 111e6), 4.36e-4 + bytes / 111e6));  // Ethernet
  }
}

TEST_CASE("a ring all-reduce takes 2 (P-1) (alpha + m/P beta) at every fidelity") {
  for (const int ranks : {2, 3, 8, 32}) {
    const double bytes = 1e7 + 3;  // not a multiple of P
    const double expected = 2 * (ranks - 1) * (kAlpha + bytes / ranks / kBandwidth);
    for (const Fidelity fidelity : kFidelities) {
      CAPTURE(ranks);
      CAPTURE(fidelity_name(fidelity));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "ring")), expected));
    }
  }
}

TEST_CASE("logarithmic all-reduces take their closed forms at every fidelity") {
  const double bytes = 1e6;
  for (const int ranks : {2, 4, 16}) {
    const double steps = std::log2(ranks);
    for (const Fidelity fidelity : kFidelities) {
      CAPTURE(ranks);
      CAPTURE(fidelity_name(fidelity));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "recursive_doubling")),
                  steps * (kAlpha + bytes / kBandwidth)));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "rabenseifner")),
                  2 * steps * kAlpha + 2.0 * (ranks - 1) / ranks * bytes / kBandwidth));
      CHECK(close(time_of(ranks, fidelity, timed<AllReduce>(bytes, "tree")),
                  2 * steps * (kAlpha + bytes / kBandwidth)));
      CHECK(close(time_of(ranks, fidelity, timed<Broadcast>(bytes, "tree")),
                  steps * (kAlpha + bytes / kBandwidth)));
      CHECK(close(time_of(ranks, fidelity, timed<AllGather>(bytes, "bruck")),
                  steps * kAlpha + (ranks - 1.0) / ranks * bytes / kBandwidth));
    }
  }
}

// Flows that share a link share it fairly, whatever their latencies and whoever sends them.

TEST_CASE(
    "two messages of 1 GB on one link of 25 GB/s end together after 80 ms, though one has ten times the latency") {
  std::vector<double> ends(4);
  Network network = trunk(4, 2e-6, 1e12, 25e9);
  network.links[2].latency_s = 19e-6;  // the port of rank 1
  Job job = scripted_job(network, [&](Worker& worker) {
    while (worker.next_step()) {
      Message message;
      message.bytes = 1e9;
      const int partner = (worker.rank() + 2) % 4;
      if (worker.rank() < 2)
        worker.messages().send(partner, 0, message);
      else
        worker.messages().receive(partner, 0);
      ends[static_cast<std::size_t>(worker.rank())] = worker.now();
    }
  });
  simulate_job(job);
  // The first flows from 2 us on, alone until the second joins at 2 + 18 us: 18 us of 25 GB/s are 450 kB.
  // Then both get 12.5 GB/s: the first ends at 20 us + (1 GB - 450 kB) / 12.5 GB/s = 79.984 ms, the second at
  // 2 GB / 25 GB/s + 2 us.
  CHECK(ends[0] == doctest::Approx(20e-6 + (1e9 - 450e3) / 12.5e9).epsilon(1e-9));
  CHECK(ends[1] == doctest::Approx(2e9 / 25e9 + 2e-6).epsilon(1e-9));
}

TEST_CASE("an all-reduce by itself takes as long as beside a timer, which makes it go message by message") {
  for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"})
    for (const bool shared : {false, true}) {
      CAPTURE(schedule);
      CAPTURE(shared);
      const auto run = [&](bool beside_a_timer) {
        Job job =
            scripted_job(shared ? trunk(8, 5e-6, 25e9, 10e9) : star(8, 5e-6, 25e9), [&](Worker& worker) {
              while (worker.next_step()) {
                const auto sum = worker.collectives().start(timed<AllReduce>(1e6 + 3, schedule));
                if (beside_a_timer && worker.rank() == 0)
                  worker.background().then(worker.background().start_timer(20e-6), [] {});
                worker.wait(sum);
              }
            });
        job.network.fidelity = Fidelity::messages;
        const RunRecord record = simulate_job(job);
        std::vector<double> seen{record.end_s, static_cast<double>(record.events)};
        for (const LinkRecord& link : record.links) seen.push_back(link.bytes);
        return seen;
      };
      const std::vector<double> alone = run(false), beside = run(true);
      REQUIRE(alone.size() == beside.size());
      CHECK(alone[1] + 1 == beside[1]);
      for (std::size_t i = 0; i < alone.size(); ++i)
        if (i != 1) CHECK(alone[i] == doctest::Approx(beside[i]).epsilon(1e-12));
    }
}

TEST_CASE("two jobs whose rings cross one trunk each get half of it") {
  // Ranks 0 and 2 form one ring, 1 and 3 another; each of the four messages of 1 GB in all crosses the trunk
  // of 10 GB/s in its direction, two at a time: 2 steps of 0.5 GB at 5 GB/s.
  for (const Fidelity fidelity : {Fidelity::flows, Fidelity::messages, Fidelity::automatic}) {
    CAPTURE(fidelity_name(fidelity));
    std::vector<double> ends(4);
    Job job = scripted_job(trunk(4, 0, 1e12, 10e9), [&](Worker& worker) {
      const int pair = worker.rank() % 2;
      auto collective = timed<AllReduce>(1e9, "ring");
      collective.group = worker.collectives().group({pair, pair + 2});
      while (worker.next_step()) {
        worker.wait(worker.collectives().start(collective));
        ends[static_cast<std::size_t>(worker.rank())] = worker.now();
      }
    });
    job.network.fidelity = fidelity;
    simulate_job(job);
    if (fidelity == Fidelity::automatic) {
      // Each ring by itself is dedicated, which is all that `auto` looks at: see docs/model.md, "Fidelity".
      for (const double end : ends) CHECK(end == doctest::Approx(0.1).epsilon(1e-9));
    } else {
      for (const double end : ends) CHECK(end == doctest::Approx(0.2).epsilon(1e-9));
    }
  }
}

// Pairs of ranks have one port: what both groups send takes the same links, and goes as one for as long as
// both of a pair come together. Rank 7 comes 0.3 ms after rank 6 in the second operation, when others send
// already, and rank 2 after rank 3 in the third.
TEST_CASE(
    "two groups that share every link take as long as SimGrid says, while their ranks come together and after") {
  for (const char* schedule : {"ring", "recursive_doubling", "rabenseifner"})
    for (const Fidelity fidelity : {Fidelity::messages, Fidelity::flows}) {
      CAPTURE(schedule);
      CAPTURE(fidelity_name(fidelity));
      const auto run = [&](MakeTimeKeeper make_time) {
        return in_child([&] {
          Network network = star(8, 5e-6, 25e9);
          network.route = [of_pairs = network.route](int from, int to, std::vector<LinkId>& path) {
            of_pairs(from / 2 * 2, to / 2 * 2, path);
          };
          std::vector<double> seen;
          Job job = scripted_job(network, [&](Worker& worker) {
            const int rank = worker.rank(), of_pair = rank % 2;
            const GroupId group =
                worker.collectives().group({of_pair, 2 + of_pair, 4 + of_pair, 6 + of_pair});
            while (worker.next_step())
              for (int i = 0; i < 4; ++i) {
                const bool late = (i == 1 && rank == 7) || (i == 2 && rank == 2);
                worker.compute().spend(Activity::compute,
                                       1e-3 * ((rank - of_pair) * 0.5) + (late ? 3e-4 : 0));
                auto sum = timed<AllReduce>(4e6, schedule);
                sum.group = group;
                worker.wait(worker.collectives().start(std::move(sum)));
                seen.push_back(worker.now());
              }
          });
          job.network.fidelity = fidelity;
          SimulationOptions options;
          options.time = make_time;
          const RunRecord record = simulate(job, options).record;
          std::sort(seen.begin(), seen.end());
          seen.push_back(static_cast<double>(record.events));
          for (const LinkRecord& link : record.links) seen.push_back(link.bytes);
          return seen;
        });
      };
      const std::vector<double> own = run(own_time),
                                simgrid = run(simgrid_time(SIMSGD_BINARY_DIR "/libsimsgd_simgrid.so"));
      REQUIRE(own.size() == simgrid.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        CAPTURE(i);
        CHECK(own[i] == doctest::Approx(simgrid[i]).epsilon(1e-9));
      }
    }
}

}  // namespace simsgd::test::engine_networks
