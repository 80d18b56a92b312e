// sgd: w <- w - eta g, with weight decay d and momentum m in PyTorch's convention:
//   g <- g + d w;  u <- m u + g (at the first step u <- g);  w <- w - eta u, Nesterov's: w <- w - eta (g + m
//   u)
// Sutskever, Martens, Dahl, Hinton, ICML 2013. State: u, "momentum", without momentum none. Reads g, w, u and
// writes w, u: 20 bytes per parameter, 12 without u. Checked by hand in tests/learn/optimizer.cpp.
#include "sim/base/check.hpp"
#include "sim/learn/optimizers/registry.hpp"

namespace simsgd {

namespace optimizers {

namespace {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;

  void fields(Fields& f) {
    f.number("momentum", momentum, "The momentum; 0 is none").at_least(0).below(1);
    f.flag("nesterov", nesterov, "Whether the momentum is Nesterov's");
    f.number("weight_decay", weight_decay, "This multiple of the weights is added to the gradient")
        .at_least(0);
  }
};

class Sgd final : public UpdateRule {
 public:
  explicit Sgd(const SgdOptions& options) : options_(options) {}

  std::vector<std::string> state_names() const override {
    return has_momentum() ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
  }

  UpdateBytes bytes_per_parameter() const override {
    return has_momentum() ? UpdateBytes{.read = 12, .written = 8} : UpdateBytes{.read = 8, .written = 4};
  }

  ReplicaState step(Executor& executor, double rate, const ReplicaState& replica,
                    const Tensor& gradient) const override {
    const Tensor& w = replica.parameters;
    if (!has_momentum()) return {plain(executor, rate, w, gradient), {}};
    const Tensor u = next_velocity(executor, replica, gradient);
    return {options_.nesterov ? ahead(executor, rate, {w, u, gradient}) : along(executor, rate, w, u), {u}};
  }

 private:
  bool has_momentum() const { return options_.momentum != 0; }

  // w <- w - eta (g + weight_decay w)
  Tensor plain(Executor& executor, double eta, const Tensor& parameters, const Tensor& gradient) const {
    return executor.submit_shared(
        "sgd_plain", {eta, options_.weight_decay}, {parameters, gradient},
        [rate = static_cast<float>(eta), decay = static_cast<float>(options_.weight_decay)](TensorData& out,
                                                                                            auto in) {
          const std::vector<float>& w = in[0]->values;
          const std::vector<float>& g = in[1]->values;
          CHECK(g.size() == w.size(), "a gradient of another length than the parameters");
          out.values.resize(w.size());
          for (std::size_t i = 0; i < w.size(); ++i) out.values[i] = w[i] - rate * (g[i] + decay * w[i]);
        });
  }

  // u <- momentum u + (g + weight_decay w); without a velocity yet, u <- g + weight_decay w.
  Tensor next_velocity(Executor& executor, const ReplicaState& replica, const Tensor& gradient) const {
    std::vector<Tensor> inputs = {replica.parameters, gradient};
    if (!replica.state.empty() && replica.state[0]) inputs.push_back(replica.state[0]);
    return executor.submit_shared(
        "sgd_velocity", {options_.momentum, options_.weight_decay}, std::move(inputs),
        [momentum = static_cast<float>(options_.momentum), decay = static_cast<float>(options_.weight_decay)](
            TensorData& out, auto in) {
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

  // w <- w - eta u
  static Tensor along(Executor& executor, double eta, const Tensor& parameters, const Tensor& velocity) {
    return executor.submit_shared("sgd_momentum", {eta}, {parameters, velocity},
                                  [rate = static_cast<float>(eta)](TensorData& out, auto in) {
                                    const std::vector<float>& w = in[0]->values;
                                    const std::vector<float>& u = in[1]->values;
                                    out.values.resize(w.size());
                                    for (std::size_t i = 0; i < w.size(); ++i)
                                      out.values[i] = w[i] - rate * u[i];
                                  });
  }

  // w <- w - eta (g + weight_decay w + momentum u), of (w, u, g)
  Tensor ahead(Executor& executor, double eta, std::vector<Tensor> inputs) const {
    return executor.submit_shared(
        "sgd_nesterov", {eta, options_.momentum, options_.weight_decay}, std::move(inputs),
        [rate = static_cast<float>(eta), momentum = static_cast<float>(options_.momentum),
         decay = static_cast<float>(options_.weight_decay)](TensorData& out, auto in) {
          const std::vector<float>& w = in[0]->values;
          const std::vector<float>& u = in[1]->values;
          const std::vector<float>& g = in[2]->values;
          out.values.resize(w.size());
          for (std::size_t i = 0; i < w.size(); ++i)
            out.values[i] = w[i] - rate * (g[i] + decay * w[i] + momentum * u[i]);
        });
  }

  SgdOptions options_;
};

}  // namespace

std::vector<OptimizerPlugin> sgd() {
  return {{{"sgd", "Stochastic gradient descent with momentum", "Sutskever et al., ICML 2013"},
           0.1,
           +[](const SgdOptions& options) -> MadeRule { return std::make_shared<const Sgd>(options); }}};
}

}  // namespace optimizers

std::shared_ptr<const UpdateRule> sgd_rule(double momentum, bool nesterov, double weight_decay) {
  return std::make_shared<const optimizers::Sgd>(
      optimizers::SgdOptions{.momentum = momentum, .nesterov = nesterov, .weight_decay = weight_decay});
}

}  // namespace simsgd
