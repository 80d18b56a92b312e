// The part of the collective engine that computes results, and tells at the end what was done.
#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/collective_state.hpp"

namespace simsgd {

void CollectiveEngine::compute_effect(Operation& operation) {
  std::vector<Values>& given = operation.contributions;
  switch (operation.what.op) {
    case Collective::Op::all_reduce:
    case Collective::Op::reduce:
    case Collective::Op::reduce_scatter:
      if (given.front())
        operation.results = {linear_combination(executor_, std::vector<double>(given.size(), 1.0), given,
                                                operation.what.scale, operation.what.entries)};
      break;
    case Collective::Op::broadcast:
      operation.results = {given[static_cast<std::size_t>(operation.what.root)]};
      break;
    case Collective::Op::custom:
      if (operation.what.effect) operation.results = operation.what.effect(executor_, given);
      break;
    case Collective::Op::all_gather:
    case Collective::Op::barrier:
      break;
  }
}

void CollectiveEngine::deliver_effect(Operation& operation, std::int32_t place) {
  const auto p = static_cast<std::size_t>(place);
  SimPending& pending = *operation.pendings[p];
  const Collective& what = operation.what;
  if (what.place_effect) {
    pending.result = what.place_effect(executor_, place, operation.contributions);
    return;
  }
  const bool complete = operation.posted == operation.entry->plan->ranks();
  // A rank that leaves early may leave before the contributions are complete; it gets nothing, or the root's
  // vector.
  const bool needs_all = what.op != Collective::Op::broadcast;
  if (needs_all && !complete) return;
  if (operation.results.empty()) compute_effect(operation);
  if (what.op == Collective::Op::all_gather) {
    pending.gathered = operation.contributions;
  } else if (what.op == Collective::Op::reduce) {
    if (place == what.root && !operation.results.empty()) pending.result = operation.results.front();
  } else if (what.op == Collective::Op::reduce_scatter) {
    if (operation.results.empty()) return;
    const Values whole = operation.results.front();
    const auto members = static_cast<std::size_t>(operation.entry->plan->ranks());
    pending.result = executor_.submit({whole}, [p, members](Tensor& out, auto in) {
      const std::vector<float>& all = in[0]->values;
      out.values.assign(all.begin() + static_cast<std::ptrdiff_t>(all.size() * p / members),
                        all.begin() + static_cast<std::ptrdiff_t>(all.size() * (p + 1) / members));
    });
  } else if (!operation.results.empty()) {
    pending.result = operation.results.size() == 1 ? operation.results.front() : operation.results[p];
  }
}

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
