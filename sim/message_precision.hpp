// Numbers in messages may be narrower than those that are computed with.
#pragma once

#include "sim/job.hpp"

namespace simsgd {

/// `values` as they arrive when they are sent in `precision`. Empty handles stay empty.
Values rounded_to(Executor& executor, const Values& values, Precision precision);

/// What a collective's member contributes: its entries alone, as they arrive.
Values contribution_of(Executor& executor, const Collective& collective, Precision precision);

}  // namespace simsgd
