#include "sim/learn/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

double warmup_factor(const LearningRate& rate, std::uint64_t step) {
  if (step > rate.warmup_steps) return 1;
  const double progress = static_cast<double>(step - 1) / static_cast<double>(rate.warmup_steps);
  return rate.warmup_from + (1 - rate.warmup_from) * progress;
}

double step_factor(const LearningRate& rate, std::uint64_t step) {
  const auto passed = std::count_if(rate.milestones.begin(), rate.milestones.end(),
                                    [step](std::uint64_t milestone) { return step >= milestone; });
  return std::pow(rate.gamma, static_cast<double>(passed));
}

double cosine_factor(const LearningRate& rate, std::uint64_t step) {
  const std::uint64_t first = rate.warmup_steps + 1;
  if (step >= rate.total_steps) return rate.floor;
  if (step <= first) return 1;
  const double progress = static_cast<double>(step - first) / static_cast<double>(rate.total_steps - first);
  return rate.floor + (1 - rate.floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace

double LearningRate::at(std::uint64_t step) const {
  CHECK(step >= 1, "steps count from 1");
  const double factor = base * warmup_factor(*this, step);
  switch (kind) {
    case Kind::constant:
      return factor;
    case Kind::step:
      return factor * step_factor(*this, step);
    case Kind::cosine:
      return factor * cosine_factor(*this, step);
  }
  return factor;
}

Tensor clipped(Executor& executor, const Tensor& gradient, double norm) {
  CHECK(norm > 0, "a gradient is clipped at a norm above 0");
  if (!gradient) return {};
  return executor.submit_shared("clipped", {norm}, {gradient}, [norm](TensorData& out, auto in) {
    out = *in[0];
    double squares = 0;
    for (const float g : out.values) squares += static_cast<double>(g) * static_cast<double>(g);
    const double length = std::sqrt(squares);
    if (length <= norm) return;
    const auto scale = static_cast<float>(norm / length);
    for (float& g : out.values) g *= scale;
  });
}

ReplicaState OptimizerSpec::step(Executor& executor, std::uint64_t step_number, const ReplicaState& replica,
                                 const Tensor& gradient) const {
  if (!replica.parameters || !gradient) return {};
  return rule->step(executor, learning_rate.at(step_number), replica,
                    clip_norm > 0 ? clipped(executor, gradient, clip_norm) : gradient);
}

double OptimizerSpec::state_bytes_per_parameter() const {
  constexpr double kBytesOfNumber = 4;
  return kBytesOfNumber * static_cast<double>(rule->state_names().size());
}

}  // namespace simsgd
