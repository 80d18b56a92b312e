// Numbers in messages may be narrower than those that are computed with.
#pragma once

#include "sim/job.hpp"
#include "sim/roles/collectives.hpp"

namespace simsgd {

/// `values` as they arrive when they are sent in `precision`. Empty handles stay empty.
Tensor rounded_to(Executor& executor, const Tensor& values, Precision precision);

/// What a collective's member contributes: its entries alone, as they arrive.
Tensor contribution_of(Executor& executor, const AnyCollective& collective, Precision precision);

}  // namespace simsgd
