// One function per kind of straggler, each in the file of its name; the distributions of delays share
// random_delay.cpp.
#pragma once

#include "sim/cluster/stragglers/registry.hpp"

namespace simsgd {

StragglerPlugin constant_straggler();
/// A delay drawn from the distribution of that name in every step.
StragglerPlugin random_delay_straggler(const std::string& distribution);
StragglerPlugin k_of_p_straggler();
StragglerPlugin markov_straggler();
StragglerPlugin ar1_straggler();
StragglerPlugin trace_straggler();

}  // namespace simsgd
