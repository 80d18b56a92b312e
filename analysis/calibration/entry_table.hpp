// Where one entry of a table by size ends and the next begins: by dynamic programming over the measured
// sizes; how many entries there are by leaving out sizes, one by one.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

namespace simsgd {

// The costs of one entry of a table: measured ~ fixed + sum of cost_j * feature_j, no cost below 0, least
// squares of relative errors; outliers count linearly.

inline constexpr int kMostCosts = 4;
using CostVector = Eigen::Matrix<double, kMostCosts, 1>;

/// One measurement, divided by itself: its target is 1.
struct RelativeRow {
  double size = 0;      ///< bytes
  double measured = 1;  ///< that it was divided by
  double weight = 0;
  double fixed = 0;  ///< what the entry's costs do not change
  CostVector features = CostVector::Zero();
};

/// Sums over rows, from which the best costs follow.
struct NormalEquations {
  Eigen::Matrix<double, kMostCosts, kMostCosts> gram = Eigen::Matrix<double, kMostCosts, kMostCosts>::Zero();
  CostVector right = CostVector::Zero();
  double square = 0;
  int rows = 0;

  void add(const RelativeRow& row, double weight);
  NormalEquations& operator+=(const NormalEquations& other);
  NormalEquations& operator-=(const NormalEquations& other);
};

struct EntryFit {
  CostVector costs = CostVector::Zero();
  double loss = 0;  ///< weighted sum of squared relative errors
};

/// The same with outliers counted less, by weights that are made again a few times.
EntryFit robust_least_squares(const std::vector<RelativeRow>& rows, int used, double outlier);

/// What an entry may be: a schedule of a policy, or a segment of a link.
struct EntryKind {
  std::string schedule;            ///< "" of a segment
  std::vector<std::string> costs;  ///< names, as many as features
  std::vector<RelativeRow> rows;   ///< of the same points in all kinds
};

struct TableEntry {
  CostVector costs = CostVector::Zero();
  double up_to = 0;  ///< bytes; infinite of the last
  std::size_t kind = 0;
};

/// The best table of at most `most` entries. `outlier`: relative error. Empty where there are too few sizes.
std::vector<TableEntry> best_table(const std::vector<EntryKind>& kinds, int most, double outlier);

}  // namespace simsgd
