// MATCHA: how often each matching is used, how strongly it averages, and what that takes in time.
#include <doctest/doctest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/gossip_rounds.hpp"
#include "algorithms/matching_probabilities.hpp"
#include "sim/learn/model.hpp"
#include "tests/algorithms/gossip_support.hpp"

namespace simsgd::test::algorithms_gossip_matcha {

namespace {

/// || E[W' W] - J ||, by going through all subsets of matchings.
double contraction_by_enumeration(const LogicalGraph& graph, const std::vector<double>& p, double alpha) {
  const int n = graph.workers;
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(n, n);
  for (unsigned subset = 0; subset < 1U << p.size(); ++subset) {
    double probability = 1;
    Eigen::MatrixXd mixing = Eigen::MatrixXd::Identity(n, n);
    for (std::size_t j = 0; j < p.size(); ++j) {
      const bool active = (subset >> j & 1U) != 0;
      probability *= active ? p[j] : 1 - p[j];
      if (!active) continue;
      for (const auto& [a, b] : graph.matchings[j]) {
        mixing(a, a) -= alpha;
        mixing(b, b) -= alpha;
        mixing(a, b) += alpha;
        mixing(b, a) += alpha;
      }
    }
    expected += probability * mixing.transpose() * mixing;
  }
  expected -= Eigen::MatrixXd::Constant(n, n, 1.0 / n);
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(expected, Eigen::EigenvaluesOnly)
      .eigenvalues()
      .cwiseAbs()
      .maxCoeff();
}

}  // namespace

TEST_CASE("on the paper's graph the probabilities use the budget, and nothing is connected better") {
  const LogicalGraph graph = graph_of("matcha8", 8);
  double before = 0;
  for (const double budget : {0.2, 0.5, 0.8}) {
    CAPTURE(budget);
    const MatchingProbabilities best = optimise_probabilities(graph, budget);
    REQUIRE(best.probabilities.size() == 5);
    CHECK(std::accumulate(best.probabilities.begin(), best.probabilities.end(), 0.0) ==
          doctest::Approx(5 * budget).epsilon(1e-9));
    for (const double p : best.probabilities) {
      CHECK(p >= 0);
      CHECK(p <= 1);
    }
    CHECK(best.connectivity == doctest::Approx(mean_connectivity(graph, best.probabilities)).epsilon(1e-12));
    CHECK(best.upper_bound <= best.connectivity * (1 + 1e-4));  // no others reach more than this
    CHECK(best.connectivity > mean_connectivity(graph, std::vector<double>(5, budget)));
    CHECK(best.connectivity > before);
    before = best.connectivity;
    // The first matching alone reaches worker 4, which has no other edge: it is used most.
    for (const double p : best.probabilities) CHECK(p <= best.probabilities.front() + 1e-6);
  }
}

TEST_CASE("alpha has the least rho over all subsets of matchings") {
  const LogicalGraph graph = graph_of("matcha8", 8);
  for (const std::vector<double>& p :
       {optimise_probabilities(graph, 0.5).probabilities, std::vector<double>(5, 0.5),
        std::vector<double>{0.9, 0.1, 0.7, 0.3, 0.2}}) {
    const double alpha = best_alpha(graph, p), rho = contraction_by_enumeration(graph, p, alpha);
    CHECK(rho < 1);
    for (const double share : {0.25, 0.9, 0.99, 0.9999, 1.0001, 1.01, 1.5})
      CHECK(contraction_by_enumeration(graph, p, share * alpha) > rho);
  }
}

TEST_CASE(
    "workers by other numbers, whose eigenvectors come in other sums, have the same probabilities and alpha") {
  for (const char* name : {"matcha8", "ring", "torus", "erdos_renyi"})
    for (const double budget : {0.3, 0.5, 0.8}) {
      CAPTURE(name);
      CAPTURE(budget);
      const LogicalGraph graph = graph_of(name, 8);
      const std::vector<double> p = optimise_probabilities(graph, budget).probabilities;
      const double alpha = best_alpha(graph, p);
      for (int shift = 1; shift < 8; ++shift) {
        LogicalGraph other = graph;
        other.laplacian_eigenvalues.clear();  // of equal probabilities alpha is another way's, too
        for (auto& matching : other.matchings)
          for (auto& [a, b] : matching) a = (3 * a + shift) % 8, b = (3 * b + shift) % 8;
        const std::vector<double> again = optimise_probabilities(other, budget).probabilities;
        for (std::size_t j = 0; j < p.size(); ++j) CHECK(std::fabs(again[j] - p[j]) < 1e-11);
        CHECK(best_alpha(other, p) == doctest::Approx(alpha).epsilon(1e-11));
      }
    }
}

TEST_CASE("with every matching active it is D-PSGD with alpha = 2 / (second + last eigenvalue)") {
  const LogicalGraph graph = graph_of("matcha8", 8);
  const double alpha = best_alpha(graph, std::vector<double>(5, 1.0));
  CHECK(alpha == doctest::Approx(best_laplacian_alpha(graph)).epsilon(1e-6));
  const auto run = [](const Method& method) {
    return final_models([&] {
      Job job = gossip_job(8, method, 6);
      stop_learning(job);
      return job;
    });
  };
  // The first step mixes after its gradient in MATCHA and before it in D-PSGD: one round more of averaging.
  const auto matcha = run({"matcha", {{"budget", 1}, {"alpha", alpha}}, "matcha8"});
  const auto d_psgd = final_models([&] {
    Job job = gossip_job(8, {"d_psgd", {{"weights", "laplacian"}, {"alpha", alpha}}, "matcha8"}, 7);
    stop_learning(job);
    return job;
  });
  CHECK(worst_difference(matcha, d_psgd) < 1e-6);
}

TEST_CASE("each matching is active as often as its probability says, in a draw that the round decides") {
  const LogicalGraph graph = graph_of("matcha8", 8);
  const MatchingRounds::Settings settings{
      .probabilities = {0.9, 0.1, 0.5, 0.0, 1.0}, .alpha = 0.1, .bytes = 4, .seed = 3};
  const MatchingRounds rounds(graph, settings), again(graph, settings);
  constexpr int kRounds = 10000;
  std::vector<double> count(5, 0.0);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::vector<char> flags = rounds.active(round);
    CHECK(again.active(round) == flags);
    for (std::size_t j = 0; j < 5; ++j) count[j] += flags[j];
  }
  for (std::size_t j = 0; j < 5; ++j) {
    const double p = settings.probabilities[j];
    CHECK(std::fabs(count[j] / kRounds - p) <= 4 * std::sqrt(p * (1 - p) / kRounds));
  }
}

TEST_CASE("communication takes time in proportion to the number of active matchings") {
  // A ring of 4 has two matchings, in each of which everybody exchanges 0.5 GB at 1 GB/s: 0.5 s each.
  Job job = paced_job({1, 1, 1, 1}, 40);
  job.cluster.network = star(4, 0, 1e9);
  job.workload.layers.front().tensors = {0.125e9};
  use_method(job, {"matcha", {{"budget", 0.5}}});
  const MatchingRounds rounds(job.graph, {.probabilities = {0.5, 0.5}, .alpha = 0.1, .seed = job.seed});
  double exchanges = 0;
  for (std::uint64_t round = 1; round <= 40; ++round)
    for (const char flag : rounds.active(round)) exchanges += flag;
  CHECK(exchanges > 20);
  CHECK(exchanges < 60);
  CHECK(simulate_job(job).end_s == doctest::Approx(40 + 0.5 * exchanges).epsilon(1e-6));
}

}  // namespace simsgd::test::algorithms_gossip_matcha
