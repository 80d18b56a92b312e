// A gradient whose computing stops early where nobody wants it any more: after the layer that it is in.
// Mini-batches are cut into pieces by layers, not by samples, so that every value is the simulation's.
#pragma once

#include <atomic>
#include <memory>

#include "sim/learn/gradient.hpp"

namespace simsgd {

/// As submit_gradient. Once `given_up` is true the result is of no use. It is shared with the executor's
/// work; `learner` must outlive that.
Tensor submit_interruptible(Executor& executor, const Learner& learner, const Tensor& parameters,
                            const BatchOf& batch, std::shared_ptr<const std::atomic<bool>> given_up);

}  // namespace simsgd
