// bytes: the network alone. Operations are their schedules' messages, alpha + m beta each; hosts, copies and
// launches take no time, and neither computing nor communication slows the other. What is left over when a
// library is taken away: a bound, and the meter of what another stack adds.
#include "sim/stacks/stack.hpp"

namespace simsgd::stacks {

std::vector<StackPlugin> bytes() {
  return {{{.name = "bytes",
            .summary = "the network alone: the time of the bytes, without a library",
            .citation = "Hockney, Parallel Computing 20(3), 1994 (latency + bytes / bandwidth)"},
           +[](const StackContext&) -> Stack { return {.free = true}; }}};
}

}  // namespace simsgd::stacks
