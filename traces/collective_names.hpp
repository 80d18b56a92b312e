// Collective operations as other programs call them, and what they tell about sizes.
#pragma once

#include <string>
#include <string_view>

namespace simsgd {

/// Our name of an operation: "all_reduce" for "AllReduce", "all_reduce_perf", "Allreduce"; "" where it is
/// none.
std::string operation_from(std::string_view name);

/// Bus bandwidth over algorithm bandwidth in nccl-tests (doc/PERFORMANCE.md there): 2 (n-1)/n for an
/// all-reduce, (n-1)/n for a reduce-scatter, an all-gather and an all-to-all, else 1. 0 where the operation
/// is unknown.
double bus_over_algorithm(std::string_view operation, int ranks);

/// The operation that a table's busbw / algbw shows. Only an all-reduce of at least 3 ranks has a ratio above
/// 1; others share theirs with another operation: "".
std::string operation_by_bandwidths(double busbw, double algbw, int ranks);

}  // namespace simsgd
