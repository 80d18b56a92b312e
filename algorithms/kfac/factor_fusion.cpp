#include "algorithms/kfac/factor_fusion.hpp"

#include <algorithm>

namespace simsgd {

FactorGroups separate_groups(std::size_t count) { return FactorGroups(count, 1); }

FactorGroups groups_by_threshold(const std::vector<ReadyFactor>& factors, double elements) {
  FactorGroups groups;
  double held = elements;  // of the last group; full, so that the first factor begins one
  for (const ReadyFactor& factor : factors) {
    if (held >= elements) {
      groups.push_back(0);
      held = 0;
    }
    ++groups.back();
    held += factor.elements;
  }
  return groups;
}

FactorGroups dynamic_groups(const std::vector<ReadyFactor>& factors, const FusionCost& cost) {
  FactorGroups groups;
  double free_s = 0;    // when the messages of all earlier groups have ended
  double elements = 0;  // of the last group
  for (std::size_t l = 0; l < factors.size(); ++l) {
    if (l > 0) {
      const double start_s = std::max(free_s, factors[l - 1].ready_s);
      const double end_s = start_s + cost.latency_s + elements * cost.per_element_s;
      const bool joins = factors[l].ready_s < end_s && factors[l].ready_s <= start_s + cost.latency_s;
      if (!joins) free_s = end_s;
      if (!joins) elements = 0;
    }
    if (elements == 0) groups.push_back(0);
    ++groups.back();
    elements += factors[l].elements;
  }
  return groups;
}

}  // namespace simsgd
