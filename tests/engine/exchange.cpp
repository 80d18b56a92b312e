// Exchanges between neighbours, whose messages share a rank's links: against closed forms, and against
// SimGrid message by message.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "algorithms/exchange.hpp"
#include "tests/support/jobs.hpp"
#include "topologies/graphs/graph.hpp"

namespace simsgd::test::engine_exchange {

namespace {

constexpr double kAlpha_s = 1e-3, kBps = 1e9, kBytes = 1e8;  // 0.1 s per message

LogicalGraph graph_of(const std::string& name, int workers) {
  return make_graph({.workers = workers}, Json{{"name", name}});
}

/// When each rank has what it waits for, in one exchange that rank r reaches at `arrivals_s[r]`.
std::vector<double> ends(const LogicalGraph& graph, const std::vector<double>& arrivals_s, Coupling coupling,
                         Fidelity fidelity) {
  std::vector<double> end_s(arrivals_s.size());
  const Exchange exchange({.name = "test", .ranks = graph.workers, .bytes = kBytes, .coupling = coupling},
                          edge_messages(graph),
                          [](Executor&, std::int32_t, const std::vector<Tensor>&) { return Tensor{}; });
  Job job = scripted_job(star(graph.workers, kAlpha_s, kBps), [&](Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, arrivals_s[rank]);
      exchange.run(worker, {});
      end_s[rank] = worker.now();
    }
  });
  job.network.fidelity = fidelity;
  simulate_job(job);
  return end_s;
}

/// How long each rank waits for others in one exchange, without the time of messages.
std::vector<double> waits(const LogicalGraph& graph, const std::vector<double>& arrivals_s,
                          Fidelity fidelity) {
  const Exchange exchange({.name = "test", .ranks = graph.workers, .bytes = kBytes}, edge_messages(graph),
                          [](Executor&, std::int32_t, const std::vector<Tensor>&) { return Tensor{}; });
  Job job = scripted_job(star(graph.workers, kAlpha_s, kBps), [&](Worker& worker) {
    while (worker.next_step()) {
      worker.compute().spend(Activity::compute, arrivals_s[static_cast<std::size_t>(worker.rank())]);
      exchange.run(worker, {});
    }
  });
  job.network.fidelity = fidelity;
  std::vector<double> waited;
  for (const WorkerRecord& worker : simulate_job(job).workers)
    waited.push_back(spent_s(worker, Activity::wait));
  return waited;
}

}  // namespace

TEST_CASE("d messages each way, all there at once: alpha + d m beta, at every fidelity that claims it") {
  const struct {
    const char* graph;
    int workers, degree;
  } cases[] = {{"ring", 2, 1}, {"ring", 6, 2}, {"torus", 16, 4}, {"hypercube", 8, 3}, {"complete", 5, 4}};
  for (const auto& each : cases) {
    for (const Coupling coupling : {Coupling::neighbour, Coupling::global}) {
      for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::steps, Fidelity::messages}) {
        CAPTURE(each.graph);
        CAPTURE(each.workers);
        CAPTURE(fidelity_name(fidelity));
        const std::vector<double> arrivals(static_cast<std::size_t>(each.workers), 1.0);
        for (const double end : ends(graph_of(each.graph, each.workers), arrivals, coupling, fidelity))
          CHECK(end == doctest::Approx(1 + kAlpha_s + each.degree * kBytes / kBps).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("global coupling: nothing begins before the last rank has come") {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::steps, Fidelity::messages}) {
    const std::vector<double> end =
        ends(graph_of("ring", 6), {1, 1.5, 1, 2.25, 1, 1}, Coupling::global, fidelity);
    for (const double each : end) CHECK(each == doctest::Approx(2.25 + kAlpha_s + 0.2).epsilon(1e-9));
  }
}

TEST_CASE("neighbour coupling: a rank whose neighbours are early does not feel who is late farther away") {
  for (const Fidelity fidelity : {Fidelity::automatic, Fidelity::steps, Fidelity::messages}) {
    const std::vector<double> end =
        ends(graph_of("ring", 6), {5, 1, 1, 1, 1, 1}, Coupling::neighbour, fidelity);
    CAPTURE(fidelity_name(fidelity));
    CHECK(end[0] == doctest::Approx(5 + kAlpha_s + 0.2).epsilon(1e-9));
    // Ranks 1 and 5 exchange with rank 0 after everything else is through, but its ports carry two messages.
    for (const std::size_t rank : {2U, 3U, 4U})
      CHECK(end[rank] == doctest::Approx(1 + kAlpha_s + 0.2).epsilon(0.1));
    CHECK(end[1] >= 5 + kAlpha_s + 0.1 - 1e-9);
    CHECK(end[1] <= 5 + kAlpha_s + 0.2 + 1e-9);
  }
}

TEST_CASE("a rank waits for its neighbours' arrivals, and no longer: from then on it communicates") {
  const std::vector<double> arrivals_s = {5, 1.2, 1, 1.3, 1, 1};
  // Rank 1 waits for rank 0, ranks 2 and 4 for rank 3, which waits for nobody, rank 5 for rank 0.
  const std::vector<double> waits_s = {0, 3.8, 0.3, 0, 0.3, 4};
  for (const Fidelity fidelity :
       {Fidelity::automatic, Fidelity::steps, Fidelity::flows, Fidelity::messages}) {
    CAPTURE(fidelity_name(fidelity));
    const std::vector<double> waited = waits(graph_of("ring", 6), arrivals_s, fidelity);
    for (std::size_t rank = 0; rank < waits_s.size(); ++rank) {
      CAPTURE(rank);
      CHECK(waited[rank] == doctest::Approx(waits_s[rank]).epsilon(1e-9));
    }
  }
}

TEST_CASE("with skew `steps` is too early by less than the time of a partner's messages") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<double> arrivals;
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      Stream draws({seed, Purpose::resampling, rank, 0});
      arrivals.push_back(0.3 * draws.uniform());
    }
    CAPTURE(seed);
    const LogicalGraph ring = graph_of("ring", 8);
    const std::vector<double> steps = ends(ring, arrivals, Coupling::neighbour, Fidelity::steps),
                              messages = ends(ring, arrivals, Coupling::neighbour, Fidelity::messages);
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
      CHECK(steps[rank] <= messages[rank] + 1e-9);
      CHECK(steps[rank] >= messages[rank] - 2 * kBytes / kBps);
    }
  }
}

}  // namespace simsgd::test::engine_exchange
