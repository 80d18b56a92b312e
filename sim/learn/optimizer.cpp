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

// u <- momentum u + (g + weight_decay w); without a velocity yet, u <- g + weight_decay w.
Values next_velocity(Executor& executor, const OptimizerSpec& spec, const ReplicaState& state,
                     const Values& gradient) {
  std::vector<Values> inputs = {state.parameters, gradient};
  if (state.velocity) inputs.push_back(state.velocity);
  return executor.submit_shared(
      "sgd_velocity", {spec.momentum, spec.weight_decay}, std::move(inputs),
      [momentum = static_cast<float>(spec.momentum), decay = static_cast<float>(spec.weight_decay)](
          Tensor& out, auto in) {
        const std::vector<float>& w = in[0]->values;
        const std::vector<float>& g = in[1]->values;
        CHECK(g.size() == w.size(), "a gradient of another length than the parameters");
        out.values.resize(w.size());
        for (std::size_t i = 0; i < w.size(); ++i) out.values[i] = g[i] + decay * w[i];
        if (in.size() < 3) return;
        const std::vector<float>& u = in[2]->values;
        CHECK(u.size() == w.size(), "a velocity of another length than the parameters");
        for (std::size_t i = 0; i < w.size(); ++i) out.values[i] += momentum * u[i];
      });
}

// w <- w - eta (g + weight_decay w)
Values step_plain(Executor& executor, const OptimizerSpec& spec, double eta, const Values& parameters,
                  const Values& gradient) {
  return executor.submit_shared(
      "sgd_plain", {eta, spec.weight_decay}, {parameters, gradient},
      [rate = static_cast<float>(eta), decay = static_cast<float>(spec.weight_decay)](Tensor& out, auto in) {
        const std::vector<float>& w = in[0]->values;
        const std::vector<float>& g = in[1]->values;
        CHECK(g.size() == w.size(), "a gradient of another length than the parameters");
        out.values.resize(w.size());
        for (std::size_t i = 0; i < w.size(); ++i) out.values[i] = w[i] - rate * (g[i] + decay * w[i]);
      });
}

// w <- w - eta u
Values step_along_velocity(Executor& executor, double eta, const Values& parameters, const Values& velocity) {
  return executor.submit_shared("sgd_momentum", {eta}, {parameters, velocity},
                                [rate = static_cast<float>(eta)](Tensor& out, auto in) {
                                  const std::vector<float>& w = in[0]->values;
                                  const std::vector<float>& u = in[1]->values;
                                  out.values.resize(w.size());
                                  for (std::size_t i = 0; i < w.size(); ++i)
                                    out.values[i] = w[i] - rate * u[i];
                                });
}

// w <- w - eta (g + weight_decay w + momentum u)
Values step_nesterov(Executor& executor, const OptimizerSpec& spec, double eta, const ReplicaState& next,
                     const Values& gradient) {
  return executor.submit_shared("sgd_nesterov", {eta, spec.momentum, spec.weight_decay},
                                {next.parameters, next.velocity, gradient},
                                [rate = static_cast<float>(eta), momentum = static_cast<float>(spec.momentum),
                                 decay = static_cast<float>(spec.weight_decay)](Tensor& out, auto in) {
                                  const std::vector<float>& w = in[0]->values;
                                  const std::vector<float>& u = in[1]->values;
                                  const std::vector<float>& g = in[2]->values;
                                  out.values.resize(w.size());
                                  for (std::size_t i = 0; i < w.size(); ++i)
                                    out.values[i] = w[i] - rate * (g[i] + decay * w[i] + momentum * u[i]);
                                });
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

ReplicaState sgd_step(Executor& executor, const OptimizerSpec& spec, double eta, const ReplicaState& state,
                      const Values& gradient) {
  if (!state.parameters || !gradient) return {};
  if (spec.momentum == 0) return {step_plain(executor, spec, eta, state.parameters, gradient), {}};
  ReplicaState next{state.parameters, next_velocity(executor, spec, state, gradient)};
  next.parameters = spec.nesterov ? step_nesterov(executor, spec, eta, next, gradient)
                                  : step_along_velocity(executor, eta, state.parameters, next.velocity);
  return next;
}

}  // namespace simsgd
