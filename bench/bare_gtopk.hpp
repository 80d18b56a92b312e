// gTop-k as one would write it without a simulator, where no two messages meet: in every step a pass over the
// rounds of its merges.
#pragma once

#include "sim/job.hpp"

namespace simsgd::bench {

/// When the last worker ends its last step.
double bare_gtopk_s(const Job& job, double density);

}  // namespace simsgd::bench
