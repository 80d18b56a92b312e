#include "algorithms/merged_messages.hpp"

#include <algorithm>
#include <limits>

namespace simsgd {

FusionCost predicted_fusion_cost(Worker& worker) {
  constexpr double kElements = 1e7;
  AllReduce collective;
  collective.tensors = 1;
  const double empty_s = worker.collectives().predict(collective);
  collective.bytes = kElements * worker.workload().bytes_per_parameter;
  const double full_s = worker.collectives().predict(collective);
  return {empty_s, (full_s - empty_s) / kElements};
}

GroupSizes separate_groups(std::size_t count) { return GroupSizes(count, 1); }

GroupSizes groups_by_threshold(const std::vector<ReadyPart>& parts, double elements) {
  GroupSizes groups;
  double held = elements;  // of the last group; full, so that the first factor begins one
  for (const ReadyPart& part : parts) {
    if (held >= elements) {
      groups.push_back(0);
      held = 0;
    }
    ++groups.back();
    held += part.elements;
  }
  return groups;
}

GroupSizes merged_groups(const std::vector<ReadyPart>& parts, const FusionCost& cost) {
  GroupSizes groups;
  double free_s = 0;    // when the messages of all earlier groups have ended
  double elements = 0;  // of the last group
  for (std::size_t l = 0; l < parts.size(); ++l) {
    if (l > 0) {
      const double start_s = std::max(free_s, parts[l - 1].ready_s);
      const double end_s = start_s + cost.latency_s + elements * cost.per_element_s;
      const bool joins = parts[l].ready_s < end_s && parts[l].ready_s <= start_s + cost.latency_s;
      if (!joins) free_s = end_s;
      if (!joins) elements = 0;
    }
    if (elements == 0) groups.push_back(0);
    ++groups.back();
    elements += parts[l].elements;
  }
  return groups;
}

GroupSizes best_groups(const std::vector<ReadyPart>& parts, const FusionCost& cost) {
  std::vector<double> end_s(parts.size() + 1, 0.0);
  std::vector<std::size_t> before(parts.size() + 1, 0);  // parts in the messages before the last one
  for (std::size_t l = 1; l <= parts.size(); ++l) {
    end_s[l] = std::numeric_limits<double>::infinity();
    double elements = 0;
    for (std::size_t k = l; k-- > 0;) {
      elements += parts[k].elements;
      const double until_s =
          std::max(end_s[k], parts[l - 1].ready_s) + cost.latency_s + elements * cost.per_element_s;
      if (until_s >= end_s[l]) continue;
      end_s[l] = until_s;
      before[l] = k;
    }
  }
  GroupSizes groups;
  for (std::size_t l = parts.size(); l > 0; l = before[l]) groups.insert(groups.begin(), l - before[l]);
  return groups;
}

}  // namespace simsgd
