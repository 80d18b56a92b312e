// adamw: Adam with decoupled weight decay d. At step t, from m = v = 0, in PyTorch's convention:
//   m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
//   w <- (1 - eta d) w - eta (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
// Loshchilov and Hutter, ICLR 2019, arXiv:1711.05101, Algorithm 2 with the decay multiplied by the learning
// rate, of which the schedule is part. State: m and v; t, a scalar, travels with m. Reads g, w, m, v and
// writes w, m, v: 28 bytes per parameter. Decay of matrices alone, which needs the model, is nanoGPT's
// (github.com/karpathy/nanoGPT, model.py): d is 0 for norms and biases. Tests: tests/learn/optimizer.cpp.
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/learn/optimizers/registry.hpp"

namespace simsgd::optimizers {

namespace {

struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  bool of_matrices = false;

  void fields(Fields& f) {
    f.number("beta1", beta1, "Share of the mean gradient that a step keeps").at_least(0).below(1);
    f.number("beta2", beta2, "Share of the mean squared gradient that a step keeps").at_least(0).below(1);
    f.number("epsilon", epsilon, "This is added to the root of the mean squared gradient").above(0);
    f.number("weight_decay", weight_decay, "Each step multiplies the weights by 1 - learning rate x this")
        .at_least(0);
    f.choice("weight_decay_on", of_matrices, {{"all", false}, {"matrices", true}},
             "What decays: all parameters, or all but norms and biases (matrices), as in nanoGPT");
  }
};

/// [begin, end) of the flat vector.
using Ranges = std::vector<std::pair<std::size_t, std::size_t>>;

/// (1 - beta) g, and beta times the moment before, `in[1]`, if there is one.
void add_moment(std::vector<float>& moment, double beta, std::span<const TensorData* const> in,
                bool squared) {
  const std::vector<float>& g = in[0]->values;
  const auto fresh = static_cast<float>(1 - beta), kept = static_cast<float>(beta);
  moment.resize(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) moment[i] = fresh * (squared ? g[i] * g[i] : g[i]);
  if (in.size() < 2) return;
  const std::vector<float>& before = in[1]->values;
  CHECK(before.size() == g.size(), "a moment of another length than the gradient");
  for (std::size_t i = 0; i < g.size(); ++i) moment[i] += kept * before[i];
}

class Adamw final : public UpdateRule {
 public:
  /// What is `lasting` does not decay.
  explicit Adamw(const AdamwOptions& options, Ranges lasting = {})
      : options_(options), lasting_(std::make_shared<const Ranges>(std::move(lasting))) {}

  std::vector<std::string> state_names() const override { return {"first_moment", "second_moment"}; }
  UpdateBytes bytes_per_parameter() const override { return {.read = 16, .written = 12}; }

  ReplicaState step(Executor& executor, double rate, const ReplicaState& replica,
                    const Tensor& gradient) const override {
    Tensor first = first_moment(executor, inputs_of(gradient, replica, 0));
    Tensor second = second_moment(executor, inputs_of(gradient, replica, 1));
    Tensor next = moved(executor, rate, {replica.parameters, first, second});
    return {std::move(next), {std::move(first), std::move(second)}};
  }

 private:
  /// The gradient, and the moment if a step has made one.
  static std::vector<Tensor> inputs_of(const Tensor& gradient, const ReplicaState& replica,
                                       std::size_t moment) {
    std::vector<Tensor> inputs = {gradient};
    if (moment < replica.state.size() && replica.state[moment]) inputs.push_back(replica.state[moment]);
    return inputs;
  }

  Tensor first_moment(Executor& executor, std::vector<Tensor> inputs) const {
    return executor.submit_shared("adamw_first_moment", {options_.beta1}, std::move(inputs),
                                  [beta = options_.beta1](TensorData& out, auto in) {
                                    add_moment(out.values, beta, in, false);
                                    CHECK(in.size() < 2 || in[1]->scalars.size() == 1,
                                          "a first moment that has lost its step");
                                    out.scalars = {in.size() < 2 ? 1 : in[1]->scalars[0] + 1};
                                  });
  }

  Tensor second_moment(Executor& executor, std::vector<Tensor> inputs) const {
    return executor.submit_shared(
        "adamw_second_moment", {options_.beta2}, std::move(inputs),
        [beta = options_.beta2](TensorData& out, auto in) { add_moment(out.values, beta, in, true); });
  }

  /// Of (w, m, v).
  Tensor moved(Executor& executor, double eta, std::vector<Tensor> inputs) const {
    return executor.submit_shared(
        "adamw",
        {eta, options_.beta1, options_.beta2, options_.epsilon, options_.weight_decay,
         static_cast<double>(lasting_->size())},
        std::move(inputs), [eta, options = options_, lasting = lasting_](TensorData& out, auto in) {
          const std::vector<float>& w = in[0]->values;
          const std::vector<float>& m = in[1]->values;
          const std::vector<float>& v = in[2]->values;
          CHECK(m.size() == w.size(), "a gradient of another length than the parameters");
          const double t = in[1]->scalars[0];
          const auto decay = static_cast<float>(1 - eta * options.weight_decay);
          const auto rate = static_cast<float>(eta / (1 - std::pow(options.beta1, t)));
          const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, t)));
          const auto epsilon = static_cast<float>(options.epsilon);
          out.values.resize(w.size());
          const auto move = [&](std::size_t begin, std::size_t end, float kept) {
            for (std::size_t i = begin; i < end; ++i)
              out.values[i] = kept * w[i] - rate * m[i] / (std::sqrt(v[i]) * spread + epsilon);
          };
          move(0, w.size(), decay);
          for (const auto& [begin, end] : *lasting) {
            CHECK(end <= w.size(), "a layer beyond the parameters");
            move(begin, end, 1);
          }
        });
  }

  AdamwOptions options_;
  std::shared_ptr<const Ranges> lasting_;  // shared with the numeric plane's work
};

/// Adamw whose decay leaves norms and biases alone.
class AdamwOfMatrices final : public MatrixRule {
 public:
  explicit AdamwOfMatrices(const AdamwOptions& options, Ranges lasting = {})
      : options_(options), rule_(options, std::move(lasting)) {}

  std::vector<std::string> state_names() const override { return rule_.state_names(); }
  UpdateBytes bytes_per_parameter() const override { return rule_.bytes_per_parameter(); }
  std::vector<MatrixProduct> products(double, double) const override { return {}; }
  std::shared_ptr<const UpdateRule> of_model(const std::vector<LayerInfo>& layers) const override {
    Ranges lasting;
    for (const LayerInfo& layer : layers) {
      const bool is_vector = layer.kind == LayerInfo::Kind::other && layer.columns == 1;
      const std::size_t matrix = is_vector ? 0 : static_cast<std::size_t>(layer.rows * layer.columns);
      if (matrix < layer.size()) lasting.emplace_back(layer.offset + matrix, layer.offset + layer.size());
    }
    return std::make_shared<const AdamwOfMatrices>(options_, std::move(lasting));
  }
  ReplicaState step(Executor& executor, double rate, const ReplicaState& replica,
                    const Tensor& gradient) const override {
    return rule_.step(executor, rate, replica, gradient);
  }

 private:
  AdamwOptions options_;
  Adamw rule_;
};

}  // namespace

std::vector<OptimizerPlugin> adamw() {
  return {{{"adamw", "Adam with decoupled weight decay", "Loshchilov, Hutter, ICLR 2019, arXiv:1711.05101"},
           0.001,
           +[](const AdamwOptions& options) -> MadeRule {
             if (options.of_matrices) return std::make_shared<const AdamwOfMatrices>(options);
             return std::make_shared<const Adamw>(options);
           }}};
}

}  // namespace simsgd::optimizers
