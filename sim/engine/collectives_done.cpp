// The part of the collective engine that tells at the end what was done.
#include <algorithm>

#include "sim/base/instants.hpp"
#include "sim/engine/collective_engine.hpp"

namespace simsgd {

void CollectiveEngine::PlanEntry::note_arrivals(const std::vector<double>& arrival_s) {
  if (!choice.if_together || apart) return;
  const auto [first, last] = std::minmax_element(arrival_s.begin(), arrival_s.end());
  apart = before(*first, *last);
}

std::vector<FidelityRecord> CollectiveEngine::fidelities() const {
  std::vector<FidelityRecord> records;
  for (const auto& [key, entry] : plans_) {
    if (entry.count == 0) continue;
    FidelityRecord record{entry.operation, fidelity_name(entry.choice.fidelity), entry.choice.reason,
                          entry.choice.exact && !entry.apart, 0};
    const auto same = std::find_if(records.begin(), records.end(), [&](FidelityRecord other) {
      other.count = 0;
      return other == record;
    });
    if (same == records.end()) {
      record.count = entry.count;
      records.push_back(std::move(record));
    } else {
      same->count += entry.count;
    }
  }
  return records;
}

void CollectiveEngine::add_link_bytes(std::vector<double>& bytes, double end_s) const {
  for (const auto& [key, entry] : plans_) {
    if (entry.choice.fidelity == Fidelity::flows || entry.choice.fidelity == Fidelity::messages) continue;
    for (const auto& [link, carried] : entry.plan->link_bytes())
      bytes[static_cast<std::size_t>(link)] += carried * static_cast<double>(entry.count);
  }
  for (const Costed& each : ahead_) {
    if (each.end_s <= end_s) continue;
    const double beyond = std::min(1.0, (each.end_s - end_s) / (each.end_s - each.go_s));
    for (const auto& [link, carried] : each.plan->link_bytes())
      bytes[static_cast<std::size_t>(link)] -= carried * beyond;
  }
}

}  // namespace simsgd
