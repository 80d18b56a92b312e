// Flows that share a link share it fairly, whatever their latencies and whoever sends them.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/engine/simgrid_time.hpp"
#include "sim/engine/simulate.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine_sharing {

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

}  // namespace simsgd::test::engine_sharing
