#include "sim/roles/replica.hpp"

namespace simsgd {

namespace {
std::size_t entries(Executor& executor, const Tensor& parameters) {
  return parameters ? executor.get(parameters).values.size() : 0;
}
}  // namespace

Replica::Replica(Executor& executor, const OptimizerSpec& optimizer, Tensor parameters, Updated updated)
    : executor_(executor),
      optimizer_(optimizer),
      size_(entries(executor, parameters)),
      updated_(std::move(updated)) {
  state_.parameters = std::move(parameters);
}

void Replica::apply(const Tensor& gradient) {
  if (gradient) state_ = optimizer_.step(executor_, step_, state_, gradient);
  if (updated_) updated_(state_.parameters, share_);
}

void Replica::keep_shard(std::size_t part, std::size_t parts) {
  share_ = 1 / static_cast<double>(parts);
  if (!state_.parameters) return;
  const auto cut = [&](Tensor& vector) {
    vector = slice(executor_, vector, size_ * part / parts, size_ * (part + 1) / parts);
  };
  cut(state_.parameters);
  for (Tensor& vector : state_.state)
    if (vector) cut(vector);
}

}  // namespace simsgd
