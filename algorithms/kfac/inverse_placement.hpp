// Who inverts which factor. A matrix is inverted by every worker, or by one owner that broadcasts the
// inverse.
//   everywhere   all by everybody, nothing is sent
//   round_robin  with more workers P than layers, A of layer i by rank 2i mod P and G by 2i + 1 mod P; else
//                both by i mod P (MPD-KFAC: Pauloski et al., SC 2020, arXiv:2007.00784, as released)
//   balanced     everybody inverts what is cheaper to invert than to broadcast; the rest goes, by descending
//                dimension, to the worker of least load (Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533)
// Test: tests/algorithms/kfac_placement.cpp.
#pragma once

#include <vector>

namespace simsgd {

/// A factor as placement sees it: what it costs.
struct InverseTask {
  int dim = 0;
  double invert_s = 0;
  double broadcast_s = 0;
};

inline constexpr int kEverybody = -1;

struct InversePlacement {
  std::vector<int> owner;  ///< by factor; kEverybody: not sent
  /// The factors with an owner, in the order in which they are inverted and broadcast.
  std::vector<std::size_t> order;
};

InversePlacement place_everywhere(std::size_t factors);
/// Factors 2i and 2i + 1 are A and G of layer i.
InversePlacement place_round_robin(std::size_t factors, int workers);
/// By cost: sent where inverting takes longer than the broadcast.
InversePlacement place_balanced(const std::vector<InverseTask>& tasks, int workers);
/// By size: sent from `least_dim` on.
InversePlacement place_balanced_from(const std::vector<InverseTask>& tasks, int workers, int least_dim);

}  // namespace simsgd
