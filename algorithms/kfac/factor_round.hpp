// One step's gradient and factors: computed, and averaged over all workers. Each factor costs its time, A
// before its layer's forward pass and G after its backward pass (pipelined) or all of them after the gradient
// (in bulk); groups of factors travel on the gradient's channel as soon as their last one is there.
#pragma once

#include <vector>

#include "algorithms/kfac/kfac_setup.hpp"
#include "algorithms/merged_messages.hpp"
#include "sim/worker.hpp"

namespace simsgd {

/// Which factors travel together, and when. The same on all ranks.
struct FactorPlan {
  bool pipelined = false;
  /// Groups in the order in which they are sent; each lists factors of the workload in the order in which
  /// they become ready: all A in forward order, then all G in backward order.
  std::vector<std::vector<std::size_t>> groups;
};

/// The factors in the order in which they become ready, and when in an undisturbed pipeline: A from the
/// start of the forward pass, G from the start of the backward pass.
struct FactorOrder {
  std::vector<std::size_t> a, g;
  std::vector<ReadyPart> a_ready, g_ready;
};
FactorOrder factor_order(const Workload& workload, const KfacSetup& setup);

/// All after the gradient, together up to the threshold.
FactorPlan bulk_plan(const FactorOrder& order, double fusion_elements);
/// While computing goes on; sizes of groups of A and of G.
FactorPlan pipelined_plan(const FactorOrder& order, const GroupSizes& a, const GroupSizes& g);
double elements_of(const std::vector<std::size_t>& group, const KfacLayers& layers);

/// For the record: how many factors each group has, which, and their size.
RecordTable groups_table(const FactorPlan& plan, const KfacLayers& layers);

class FactorRound {
 public:
  FactorRound(Worker& worker, const KfacSetup& setup, const FactorPlan& plan)
      : worker_(worker), setup_(setup), plan_(plan) {}

  /// The mean gradient over all workers; with the factors if they are `due`.
  Tensor mean_gradient(bool due);
  /// Their means over all workers, by layer of the learner (none without one). After a gradient with factors.
  std::vector<FactorPair> mean_factors();

 private:
  void add_pipeline(GradientOptions& options);
  void compute_in_bulk();
  void spend_on(std::size_t factor);
  void finished(std::size_t factor);
  std::vector<EntryRange> entries_of(std::size_t factor) const;
  Tensor gathered(const std::vector<EntryRange>& entries);
  void send(const std::vector<std::size_t>& group);
  void split(const std::vector<std::size_t>& group, const Tensor& sum, std::vector<FactorPair>& factors);

  Worker& worker_;
  const KfacSetup& setup_;
  const FactorPlan& plan_;
  Tensor own_;                     // this worker's factors
  std::vector<std::size_t> g_at_;  // places in Workload::tensors after which there are G to compute
  std::size_t next_call_ = 0, next_layer_ = 0;
  std::vector<Handle<Tensor>> started_;  // a message for each group
};

}  // namespace simsgd
