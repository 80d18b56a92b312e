#include "algorithms/kfac/factor_plan.hpp"

namespace simsgd {

namespace {

/// Appends the groups of consecutive `factors` of these sizes.
void add_groups(const FactorGroups& sizes, const std::vector<std::size_t>& factors, FactorPlan& plan) {
  std::size_t next = 0;
  for (const std::size_t size : sizes) {
    plan.groups.emplace_back();
    for (std::size_t i = 0; i < size; ++i) plan.groups.back().push_back(factors[next++]);
  }
}

}  // namespace

double elements_of(const std::vector<std::size_t>& group, const KfacLayers& layers) {
  double elements = 0;
  for (const std::size_t factor : group) elements += layers.factors[factor].elements();
  return elements;
}

FactorOrder factor_order(const Workload& workload, const KfacSetup& setup) {
  FactorOrder order;
  const KfacLayers& layers = setup.layers;
  double now_s = 0;
  std::size_t done = 0;  // layers of the workload whose forward pass is over
  for (std::size_t k = 0; k < layers.count(); ++k) {
    for (; done < static_cast<std::size_t>(layers.a(k).layer); ++done)
      now_s += workload.layers[done].forward_s;
    now_s += setup.costs.factor_s[2 * k];
    order.a.push_back(2 * k);
    order.a_ready.push_back({now_s, layers.a(k).elements()});
  }
  now_s = 0;
  done = workload.layers.size();  // layers whose backward pass is still to come
  for (std::size_t k = layers.count(); k-- > 0;) {
    while (done > static_cast<std::size_t>(layers.g(k).layer)) now_s += workload.layers[--done].backward_s;
    now_s += setup.costs.factor_s[2 * k + 1];
    order.g.push_back(2 * k + 1);
    order.g_ready.push_back({now_s, layers.g(k).elements()});
  }
  return order;
}

FactorPlan bulk_plan(const FactorOrder& order, double fusion_elements) {
  std::vector<std::size_t> factors = order.a;
  std::vector<ReadyFactor> ready = order.a_ready;
  factors.insert(factors.end(), order.g.begin(), order.g.end());
  ready.insert(ready.end(), order.g_ready.begin(), order.g_ready.end());
  FactorPlan plan;
  add_groups(groups_by_threshold(ready, fusion_elements), factors, plan);
  return plan;
}

FactorPlan pipelined_plan(const FactorOrder& order, const FactorGroups& a, const FactorGroups& g) {
  FactorPlan plan;
  plan.pipelined = true;
  add_groups(a, order.a, plan);
  add_groups(g, order.g, plan);
  return plan;
}

RecordTable groups_table(const FactorPlan& plan, const KfacLayers& layers) {
  RecordTable table{"factor_groups", {"group", "factors", "first", "last", "elements"}, {}};
  const auto name = [&layers](std::size_t factor) {
    return (layers.factors[factor].is_a ? "A " : "G ") + std::to_string(factor / 2 + 1);
  };
  for (const std::vector<std::size_t>& group : plan.groups)
    table.rows.push_back({static_cast<double>(table.rows.size() + 1), static_cast<double>(group.size()),
                          name(group.front()), name(group.back()), elements_of(group, layers)});
  return table;
}

}  // namespace simsgd
