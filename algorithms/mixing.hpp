// Mixing weights: by how much a worker takes over its neighbours' models in a round of gossip.
//   x_i <- w_ii x_i + sum over neighbours j of w_ij x_j,   W symmetric, rows and columns sum to 1
// so that the mean of the models stays as it is, and their distance from it shrinks by at least
// rho = max(|second|, |last|) of W's eigenvalues in each round; 1 - rho is the spectral gap.
#pragma once

#include <vector>

#include "sim/logical_graph.hpp"

namespace simsgd {

/// Symmetric weights of the edges of a graph, in the order of LogicalGraph::neighbours.
struct MixingWeights {
  std::vector<double> own;
  std::vector<std::vector<double>> neighbour;
};

/// w_ij = 1 / (1 + max(degree_i, degree_j)): a third each on a ring, 1 / (degree + 1) on every regular graph.
/// Xiao, Boyd, Lall, IPSN 2005, doi 10.1109/IPSN.2005.1440896.
MixingWeights metropolis_weights(const LogicalGraph& graph);

/// W = I - alpha L: w_ij = alpha. Converges for 0 < alpha < 2 / (last eigenvalue of L).
MixingWeights laplacian_weights(const LogicalGraph& graph, double alpha);

/// The alpha for which I - alpha L mixes fastest: 2 / (second + last eigenvalue of L). Xiao, Boyd, Syst.
/// Control Lett. 53, 2004, doi 10.1016/j.sysconle.2004.02.022. The graph's eigenvalues must be known.
double best_laplacian_alpha(const LogicalGraph& graph);

/// 1 - rho of W, by Eigen (dense: about a second for 1,024 workers). Tests:
/// tests/topologies/graphs.cpp.
double spectral_gap(const LogicalGraph& graph, const MixingWeights& weights);

}  // namespace simsgd
