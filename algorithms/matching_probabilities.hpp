// How often MATCHA uses each matching, and how strongly it averages.
//   L_j the Laplacian of matching j, p_j its probability, M matchings, c_b the budget:
//   p maximises lambda_2(sum_j p_j L_j)  with  sum_j p_j = c_b M,  0 <= p_j <= 1
//   alpha minimises  rho = || E[W' W] - J ||,  W = I - alpha sum_j B_j L_j,  B_j ~ Bernoulli(p_j)
//         E[W' W] = I - 2 alpha S + alpha^2 (S^2 + 2 sum_j p_j (1 - p_j) L_j),  S = sum_j p_j L_j,
//   because L_j^2 = 2 L_j for a matching. rho bounds the mean square distance from consensus: it shrinks by
//   rho in each round. Wang, Sahu, Yang, Joshi, Kar, "MATCHA", 2019, arXiv:1905.09435, equations 4 to 8.
//   Tests: tests/algorithms/gossip_matcha.cpp.
#pragma once

#include <vector>

#include "sim/logical_graph.hpp"

namespace simsgd {

/// Probabilities are optimised for graphs of at most so many workers: it takes many eigenvalue problems.
inline constexpr int kMostForProbabilities = 128;

struct MatchingProbabilities {
  std::vector<double> probabilities;
  double connectivity = 0;  ///< lambda_2 that they reach
  double upper_bound = 0;   ///< that no probabilities can exceed
};

/// Projected gradient ascent on a smooth minimum of the eigenvalues, from equal probabilities on; ends when
/// the bound is 1e-4 above, or after a fixed amount of work. Rounding moves them by about as much as it is.
MatchingProbabilities optimise_probabilities(const LogicalGraph& graph, double budget);

/// lambda_2 of the mean Laplacian.
double mean_connectivity(const LogicalGraph& graph, const std::vector<double>& probabilities);

/// The alpha with the least rho, to 1e-12 relative. Where all probabilities are equal it comes from the
/// graph's own eigenvalues.
double best_alpha(const LogicalGraph& graph, const std::vector<double>& probabilities);

}  // namespace simsgd
