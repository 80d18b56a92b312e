#include "analysis/calibration/entry_fit.hpp"

#include <algorithm>
#include <cmath>

namespace simsgd {

void NormalEquations::add(const RelativeRow& row, double weight) {
  const double target = 1 - row.fixed;
  gram += weight * row.features * row.features.transpose();
  right += weight * target * row.features;
  square += weight * target * target;
  ++rows;
}

NormalEquations& NormalEquations::operator+=(const NormalEquations& other) {
  gram += other.gram;
  right += other.right;
  square += other.square;
  rows += other.rows;
  return *this;
}

NormalEquations& NormalEquations::operator-=(const NormalEquations& other) {
  gram -= other.gram;
  right -= other.right;
  square -= other.square;
  rows -= other.rows;
  return *this;
}

EntryFit least_squares(const NormalEquations& sums, int used) {
  EntryFit best{CostVector::Zero(), sums.square};
  CostVector scale;  // features differ by many orders of magnitude
  for (int j = 0; j < kMostCosts; ++j) scale[j] = sums.gram(j, j) > 0 ? 1 / std::sqrt(sums.gram(j, j)) : 0;
  for (int set = 1; set < 1 << used; ++set) {
    std::vector<int> in;
    for (int j = 0; j < used; ++j)
      if ((set >> j & 1) != 0 && scale[j] > 0) in.push_back(j);
    if (in.empty() || static_cast<int>(in.size()) > sums.rows) continue;
    const auto count = static_cast<Eigen::Index>(in.size());
    Eigen::MatrixXd gram(count, count);
    Eigen::VectorXd right(count);
    for (Eigen::Index a = 0; a < count; ++a) {
      const int i = in[static_cast<std::size_t>(a)];
      right[a] = sums.right[i] * scale[i];
      for (Eigen::Index b = 0; b < count; ++b) {
        const int j = in[static_cast<std::size_t>(b)];
        gram(a, b) = sums.gram(i, j) * scale[i] * scale[j];
      }
    }
    const Eigen::LDLT<Eigen::MatrixXd> solver(gram);
    if (solver.info() != Eigen::Success || solver.rcond() < 1e-13) continue;
    const Eigen::VectorXd solution = solver.solve(right);
    if ((solution.array() < 0).any()) continue;
    const double loss = std::max(0.0, sums.square - solution.dot(right));
    if (!(loss < best.loss * (1 - 1e-12))) continue;
    best = {CostVector::Zero(), loss};
    for (Eigen::Index a = 0; a < count; ++a) {
      const int i = in[static_cast<std::size_t>(a)];
      best.costs[i] = solution[a] * scale[i];
    }
  }
  return best;
}

EntryFit robust_least_squares(const std::vector<RelativeRow>& rows, int used, double outlier) {
  constexpr int kRounds = 12;
  EntryFit fit;
  for (int round = 0; round < kRounds; ++round) {
    NormalEquations sums;
    for (const RelativeRow& row : rows) {
      double weight = row.weight;
      if (round > 0) {
        const double error = (row.fixed + row.features.dot(fit.costs) - 1) / outlier;
        weight /= std::sqrt(1 + error * error);
      }
      sums.add(row, weight);
    }
    fit = least_squares(sums, used);
  }
  return fit;
}

}  // namespace simsgd
