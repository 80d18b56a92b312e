// The part of the collective engine that tells at the end what was done.
#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/collective_state.hpp"

namespace simsgd {

std::vector<FidelityRecord> CollectiveEngine::fidelities() const {
  std::vector<FidelityRecord> records;
  for (const auto& [key, entry] : plans_) {
    if (entry.count == 0) continue;
    FidelityRecord record{entry.operation, fidelity_name(entry.choice.fidelity), entry.choice.reason,
                          entry.choice.exact, 0};
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

void CollectiveEngine::add_link_bytes(std::vector<double>& bytes) const {
  for (const auto& [key, entry] : plans_) {
    if (entry.choice.fidelity == Fidelity::flows || entry.choice.fidelity == Fidelity::messages) continue;
    for (const auto& [link, carried] : entry.plan->link_bytes())
      bytes[static_cast<std::size_t>(link)] += carried * static_cast<double>(entry.count);
  }
}

std::string CollectiveEngine::unfinished() const {
  std::string text;
  for (const auto& [key, channel] : channels_) {
    if (channel->operations.empty()) continue;
    const Operation& operation = *channel->operations.front();
    std::string missing;
    int count = 0;
    for (std::size_t p = 0; p < operation.posted_s.size(); ++p) {
      if (operation.posted_s[p] != std::numeric_limits<double>::infinity()) continue;
      if (++count <= 8)
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", groups_.ranks(key.first)[p]);
    }
    if (count > 8) missing += fmt::format(" and {} more", count - 8);
    text += fmt::format(" {} ({} of {} ranks have come; missing: {}).", operation.entry->operation,
                        operation.posted, operation.posted_s.size(), count == 0 ? "none" : missing);
  }
  return text;
}

}  // namespace simsgd
