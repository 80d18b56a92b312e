// The inverses of one step: each computed where the placement says, and broadcast by its owner. With overlap
// an owner broadcasts an inverse while it goes on inverting; without it all inversions come first.
#pragma once

#include <vector>

#include "algorithms/kfac/kfac_setup.hpp"
#include "sim/worker.hpp"

namespace simsgd {

// Who inverts which factor. A matrix is inverted by every worker, or by one owner that broadcasts the
// inverse.
//   everywhere   all by everybody, nothing is sent
//   round_robin  with more workers P than layers, A of layer i by rank 2i mod P and G by 2i + 1 mod P; else
//                both by i mod P (MPD-KFAC: Pauloski et al., SC 2020, arXiv:2007.00784, as released)
//   balanced     everybody inverts what is cheaper to invert than to broadcast; the rest goes, by descending
//                dimension, to the worker of least load (Shi, Zhang, Li, ICDCS 2021, arXiv:2107.06533)
// Test: tests/algorithms/kfac_systems.cpp.

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

/// What inverting and broadcasting each factor of the workload takes, as predicted.
std::vector<InverseTask> inverse_tasks(Worker& worker, const KfacSetup& setup);

/// For the record: each factor's layer, kind, dimension, who inverts it, and the predicted times. Those that
/// are sent come first, in the order in which they are.
RecordTable placement_table(const InversePlacement& placement, const std::vector<InverseTask>& tasks,
                            const Workload& workload, const KfacLayers& layers);

class InverseRound {
 public:
  InverseRound(Worker& worker, const KfacSetup& setup, const InversePlacement& placement)
      : worker_(worker),
        setup_(setup),
        placement_(placement),
        inverses_(setup.learned.layout.layers.size()) {}

  /// The inverses of the damped `factors`, both by layer of the learner.
  std::vector<FactorPair> invert(const std::vector<FactorPair>& factors, bool overlap);

 private:
  void invert_those_of(int owner);
  void invert_one(std::size_t factor);
  void broadcast(std::size_t factor);
  void receive(std::size_t factor, const Tensor& result);

  Worker& worker_;
  const KfacSetup& setup_;
  const InversePlacement& placement_;
  const std::vector<FactorPair>* factors_ = nullptr;
  std::vector<FactorPair> inverses_;
  std::vector<Handle<Tensor>> started_;  // by place in the placement's order
};

}  // namespace simsgd
