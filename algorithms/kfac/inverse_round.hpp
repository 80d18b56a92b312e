// The inverses of one step: each computed where the placement says, and broadcast by its owner. With overlap
// an owner broadcasts an inverse while it goes on inverting; without it all inversions come first.
#pragma once

#include <vector>

#include "algorithms/kfac/inverse_placement.hpp"
#include "algorithms/kfac/kfac_setup.hpp"
#include "sim/worker.hpp"

namespace simsgd {

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
