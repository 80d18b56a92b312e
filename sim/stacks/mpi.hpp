// Which algorithm Open MPI 4.1 takes for an operation of a size among so many ranks, as policies. Checked
// against the source of 4.1.4; tests/stacks/mpi_decisions.cpp has its numbers once more.
//   tuned   of blocking calls: coll/tuned/coll_tuned_decision_fixed.c, for commutative sums. Sizes are those
//           of the whole vector, of the part that a rank contributes for all_gather.
//   libnbc  of immediate ones: coll/libnbc/nbc_iallreduce.c, nbc_ibcast.c, nbc_iallgather.c,
//           nbc_ireduce_scatter.c, nbc_ibarrier.c, not in place.
// Where no schedule here does what Open MPI does, the nearest:
//   tree                nonoverlapping (reduce, then broadcast); broadcasts by chains, linear, binary,
//   k-nomial
//                       and split trees, which move up to P-1 vectors where this moves log2 P
//   ring                segmented rings (the decisions ask for no segments: the same), neighbour exchanges
//                       (half the latencies), libnbc's reduce_scatter (reduced to one rank, then scattered)
//   bruck               two_proc; recursive doubling (the same for powers of two, and what Open MPI itself
//                       does for others); libnbc's everybody to everybody
//   recursive_halving   butterflies and, below 1 KiB, what is reduced to one rank and scattered; `ring` in
//   its
//                       place where the ranks are not a power of two
//   scatter_all_gather  libnbc's segmented chains
// A ring of fewer elements than ranks is recursive doubling; elements have 4 bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd::stacks {

using MpiPolicies = std::vector<std::pair<std::string, Json>>;

/// Entries that groups of at most `workers` can meet; 0: of any number.
MpiPolicies tuned_decisions(int workers);
MpiPolicies libnbc_decisions(int workers);

}  // namespace simsgd::stacks
