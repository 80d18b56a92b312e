// The replica: the learner's parameters on this worker, and its optimizer's state. Both are empty where
// nothing is learned. The same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/learn/optimizer.hpp"
#include "sim/learn/tensor.hpp"

namespace simsgd {

class Replica {
 public:
  /// Called after an update, with the new parameters and which share of the model they are: takes the time of
  /// it. May be empty.
  using Updated = std::function<void(const Tensor& parameters, double share)>;
  Replica(Executor& executor, const OptimizerSpec& optimizer, Tensor parameters, Updated updated);

  std::size_t size() const { return size_; }  ///< parameters of the learner; 0 without one
  const Tensor& parameters() const { return state_.parameters; }
  void set(Tensor parameters) { state_.parameters = std::move(parameters); }

  /// One update by the optimizer at this step's learning rate. Nothing without a gradient.
  void apply(const Tensor& gradient);
  /// From now on this worker holds entries [n part / parts, n (part + 1) / parts) of the model alone, as
  /// ReduceScatter cuts; the shards of all ranks, one after another, are the model (Algorithm::shards).
  /// Gradients to apply are then of these entries.
  void keep_shard(std::size_t part, std::size_t parts);
  double learning_rate() const { return optimizer_.learning_rate.at(step_); }
  const OptimizerSpec& optimizer() const { return optimizer_; }

  /// Parameters and optimizer state together: what a checkpoint holds.
  const ReplicaState& state() const { return state_; }
  void restore(ReplicaState state) { state_ = std::move(state); }

  /// For machines: the step whose learning rate counts, from 1.
  void begin_step(std::uint64_t step) { step_ = step; }

 private:
  Executor& executor_;
  const OptimizerSpec& optimizer_;
  std::size_t size_;
  ReplicaState state_;
  Updated updated_;
  double share_ = 1;  // of the model that is held
  std::uint64_t step_ = 1;
};

}  // namespace simsgd
