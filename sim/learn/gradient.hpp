// The gradient of a mini-batch on the numeric plane, and what else may be made of the same pass.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/learn/tensor.hpp"

namespace simsgd {

class Learner;
template <class T>
struct LayerTap;

/// One of the equal micro-batches that a worker's mini-batch is cut into; all of it: 0 of 1.
struct MicroBatch {
  int index = 0;
  int count = 1;
  int rank = -1;  ///< another worker's, which counts as used there alone; -1: its own
};

/// A worker's mini-batch, or a part of it, as Learner::samples draws it.
struct BatchOf {
  int rank = 0;
  std::uint64_t step = 1;
  MicroBatch part{};
};

/// Something that is computed from what each layer with weights saw in a backward pass: its inputs and the
/// gradients of its outputs (LayerTap). Pure: it may run on any thread, or never.
class LayerStatistics {
 public:
  virtual ~LayerStatistics() = default;
  /// Appends its numbers to `out`.
  virtual void compute(const Learner& learner, const LayerTap<float>& tap, std::vector<float>& out) const = 0;
};

/// The mean gradient over the batch at `parameters`; its first scalar is the mean loss. `learner` must
/// outlive the executor's work.
Tensor submit_gradient(Executor& executor, const Learner& learner, const Tensor& parameters,
                       const BatchOf& batch);

struct GradientAndStatistics {
  Tensor gradient, statistics;
};
/// Both from one pass. `statistics` is shared with the executor's work.
GradientAndStatistics submit_gradient(Executor& executor, const Learner& learner, const Tensor& parameters,
                                      const BatchOf& batch,
                                      const std::shared_ptr<const LayerStatistics>& statistics);

}  // namespace simsgd
