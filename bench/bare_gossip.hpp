// D-PSGD as one would write it without a simulator: a loop over the steps of workers and the messages between
// neighbours.
#pragma once

#include "sim/collectives/plan.hpp"
#include "sim/job.hpp"

namespace simsgd::bench {

/// When the last worker ends its last step, on a ring of an even number of workers. All links have one
/// bandwidth, and at most two messages meet on each: a message has half of it while it meets another on any
/// of its links, and else all.
double bare_d_psgd_s(const Job& job, const Plan& exchange);

}  // namespace simsgd::bench
