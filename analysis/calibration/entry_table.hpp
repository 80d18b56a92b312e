// Where one entry of a table by size ends and the next begins: by dynamic programming over the measured
// sizes; how many entries there are by leaving out sizes, one by one.
#pragma once

#include <string>
#include <vector>

#include "analysis/calibration/entry_fit.hpp"

namespace simsgd {

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
