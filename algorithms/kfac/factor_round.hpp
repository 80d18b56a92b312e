// One step's gradient and factors: computed, and averaged over all workers. Each factor costs its time, A
// before its layer's forward pass and G after its backward pass (pipelined) or all of them after the gradient
// (in bulk); groups of factors travel on the gradient's channel as soon as their last one is there.
#pragma once

#include <string>
#include <vector>

#include "algorithms/kfac/kfac_setup.hpp"
#include "sim/worker.hpp"

namespace simsgd {

// Which factors travel together. Messages become ready one after another while computing goes on; merging
// neighbours saves latency, waiting for a neighbour costs overlap.
//   dynamic: with ready times r_l and t(n) = latency + n per_element,
//     start_0 = r_0 and start_l = max(start_{l-1} + t_{l-1}, r_l);
//   factor l + 1 joins the group of l if it is ready before that group's message would end, and either before
//   it could start or within one latency of its start; then the start is that of the larger group. Shi,
//   Zhang, Li, "Accelerating distributed K-FAC with smart parallelism of computing and communication tasks",
//   ICDCS 2021, arXiv:2107.06533, section V.
// Test: tests/algorithms/kfac_fusion.cpp.

/// Predicted time of an all-reduce of n elements: latency_s + n per_element_s.
struct FusionCost {
  double latency_s = 0;
  double per_element_s = 0;
};

/// A factor to be sent, in the order in which factors become ready.
struct ReadyFactor {
  double ready_s = 0;
  double elements = 0;
};

/// Sizes of consecutive groups; they sum to the number of factors.
using FactorGroups = std::vector<std::size_t>;

FactorGroups separate_groups(std::size_t count);
/// A group is complete as soon as it holds `elements`.
FactorGroups groups_by_threshold(const std::vector<ReadyFactor>& factors, double elements);
FactorGroups dynamic_groups(const std::vector<ReadyFactor>& factors, const FusionCost& cost);

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
  std::vector<ReadyFactor> a_ready, g_ready;
};
FactorOrder factor_order(const Workload& workload, const KfacSetup& setup);

/// All after the gradient, together up to the threshold.
FactorPlan bulk_plan(const FactorOrder& order, double fusion_elements);
/// While computing goes on; sizes of groups of A and of G.
FactorPlan pipelined_plan(const FactorOrder& order, const FactorGroups& a, const FactorGroups& g);
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
