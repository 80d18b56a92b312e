// Methods whose ranks all do the same in every step. A machine that knows it may take down what one of them
// does (sim/engine/step_trace.hpp), and go through the ranks without a thread or a fiber for each.
#pragma once

#include "sim/algorithm.hpp"

namespace simsgd {

/// A method that says so of itself: every rank does the same in every step but the first, whatever its number
/// and the time, in collectives of all ranks or of groups that all ranks make alike; and after a crash it
/// computes again what it lost.
class LockstepAlgorithm : public Algorithm {};

}  // namespace simsgd
