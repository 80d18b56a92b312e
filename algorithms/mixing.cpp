#include "algorithms/mixing.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/eigen_pairs.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

template <class Weight>
MixingWeights weights_of(const LogicalGraph& graph, Weight weight) {
  MixingWeights weights;
  for (int i = 0; i < graph.workers; ++i) {
    double own = 1;
    std::vector<double>& of_i = weights.neighbour.emplace_back();
    for (const int j : graph.neighbours[static_cast<std::size_t>(i)]) {
      of_i.push_back(weight(i, j));
      own -= of_i.back();
    }
    weights.own.push_back(own);
  }
  return weights;
}

}  // namespace

MixingWeights metropolis_weights(const LogicalGraph& graph) {
  return weights_of(
      graph, [&graph](int i, int j) { return 1.0 / (1 + std::max(graph.degree(i), graph.degree(j))); });
}

MixingWeights laplacian_weights(const LogicalGraph& graph, double alpha) {
  return weights_of(graph, [alpha](int, int) { return alpha; });
}

double best_laplacian_alpha(const LogicalGraph& graph) {
  const std::vector<double>& eigenvalues = graph.laplacian_eigenvalues;
  CHECK(eigenvalues.size() > 1, "the best alpha comes from the eigenvalues of a graph of several workers");
  return 2 / (eigenvalues[1] + eigenvalues.back());
}

double spectral_gap(const LogicalGraph& graph, const MixingWeights& weights) {
  const Eigen::Index n = graph.workers;
  if (n < 2) return 1;
  Eigen::MatrixXd mixing = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    mixing(i, i) = weights.own[row];
    for (std::size_t k = 0; k < graph.neighbours[row].size(); ++k)
      mixing(i, graph.neighbours[row][k]) = weights.neighbour[row][k];
  }
  const Eigen::VectorXd values = symmetric_eigenvalues(mixing);
  return 1 - std::max(std::fabs(values(0)), std::fabs(values(n - 2)));
}

}  // namespace simsgd
