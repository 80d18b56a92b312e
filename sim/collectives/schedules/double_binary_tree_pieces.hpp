// The messages of a double binary tree, piece by piece: what its costs (double_binary_tree.cpp) stand for.
#pragma once

#include "sim/collectives/schedules.hpp"

namespace simsgd::schedules {

/// Whom each rank receives from, where it sends to `to` (-1: nobody).
std::vector<std::int32_t> reversed(const std::vector<std::int32_t>& to);

/// The two trees share the pieces. A rank sends what it has of one piece up before the sum of an earlier
/// piece comes down, so that pieces follow one another without waiting for the root. `ranks_per_node` divides
/// `ranks`.
Schedule double_tree_in_pieces(const ScheduleRequest& request);

}  // namespace simsgd::schedules
