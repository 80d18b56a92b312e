// Which of the parts that become ready one after another travel together, while computing goes on. Merging
// neighbours saves latency, waiting for a neighbour costs overlap.
//   merged: with ready times r_l and t(n) = a + b n of a message of n,
//     start_0 = r_0 and start_l = max(start_{l-1} + t_{l-1}, r_l);
//   part l + 1 joins the message of l if it is ready before that would end, and either before it could start
//   or within a of its start; then the start is that of the larger message.
// Shi, Chu, Li, "MG-WFBP: Efficient Data Communication for Distributed Synchronous SGD Algorithms", INFOCOM
// 2019, arXiv:1811.11141, Algorithm 1; of K-FAC's factors Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533,
// section V. The rule is not the best one: of all ways of merging eight parts it finds the best in half of
// the examples that are drawn (tests/algorithms/synchronous.cpp), though none that ends later than without
// merging.
//   best: F_l = min_k max(F_k, r_l) + t(n_{k+1} + ... + n_l), F_0 = 0: the end of the first l parts
// Tests: tests/algorithms/kfac_systems.cpp, synchronous.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/worker.hpp"

namespace simsgd {

/// The time of an all-reduce of n: latency_s + n per_element_s.
struct FusionCost {
  double latency_s = 0;
  double per_element_s = 0;
};

/// A line through the predicted times of an empty and a large all-reduce of this cluster. Elements are
/// numbers of the workload.
FusionCost predicted_fusion_cost(Worker& worker);

/// A part to be sent, in the order in which parts become ready.
struct ReadyPart {
  double ready_s = 0;
  double elements = 0;
};

/// Sizes of consecutive groups; they sum to the number of parts.
using GroupSizes = std::vector<std::size_t>;

GroupSizes separate_groups(std::size_t count);
/// A group is complete as soon as it holds `elements`.
GroupSizes groups_by_threshold(const std::vector<ReadyPart>& parts, double elements);
GroupSizes merged_groups(const std::vector<ReadyPart>& parts, const FusionCost& cost);
GroupSizes best_groups(const std::vector<ReadyPart>& parts, const FusionCost& cost);

}  // namespace simsgd
