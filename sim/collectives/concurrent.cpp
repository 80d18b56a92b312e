#include "sim/collectives/concurrent.hpp"

#include <algorithm>

namespace simsgd {

int messages_of(const Schedule& schedule, std::int32_t rank) {
  const auto i = static_cast<std::size_t>(rank);
  int count = 0;
  for (const Stage& stage : schedule.stages)
    count += (stage.to[i] >= 0 ? 1 : 0) + (stage.from[i] >= 0 ? 1 : 0);
  return count;
}

double port_end(std::vector<PortMessage>& messages, double free_s) {
  std::sort(messages.begin(), messages.end(),
            [](const PortMessage& a, const PortMessage& b) { return a.ready_s < b.ready_s; });
  for (const PortMessage& message : messages) free_s = std::max(free_s, message.ready_s) + message.transfer_s;
  return free_s;
}

}  // namespace simsgd
