// Workers that something unrecorded holds together.
#pragma once

#include <vector>

#include "analysis/replay/graph.hpp"

namespace simsgd::replay {

/// Two workers are held together before a kind of operation where, over all steps, its begins differ by at
/// most a twentieth of what the ends differ by that they wait for, and neither begins before both are ready.
/// `graph`: without synchronisations.
std::vector<Synchronisation> find_synchronisations(const Graph& graph);

}  // namespace simsgd::replay
