// The plan of a step's factor messages: which factors travel together, and when. The same on all ranks; the
// rules of fusion are in factor_fusion.
#pragma once

#include <vector>

#include "algorithms/kfac/factor_fusion.hpp"
#include "algorithms/kfac/kfac_setup.hpp"

namespace simsgd {

/// Which factors travel together, and when.
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

}  // namespace simsgd
