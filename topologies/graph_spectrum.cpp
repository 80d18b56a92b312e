#include <Eigen/Eigenvalues>

#include "topologies/graph_registry.hpp"

namespace simsgd {

std::vector<double> laplacian_eigenvalues(const LogicalGraph& graph) {
  Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(graph.workers, graph.workers);
  for (const auto& [a, b] : graph.edges) {
    laplacian(a, b) = laplacian(b, a) = -1;
    laplacian(a, a) += 1;
    laplacian(b, b) += 1;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(laplacian, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

}  // namespace simsgd
