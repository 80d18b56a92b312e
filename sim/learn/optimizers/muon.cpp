// muon: momentum made orthogonal, for the matrices inside a model; AdamW for all else. For a matrix w of
// r x c with gradient g:
//   u <- b u + g;  d = g + b u (Nesterov);  X_0 = d / (|d|_F + 1e-7);  5 times X <- a X + (b' A + c' A^2) X,
//   A = X X^T, of the side that is shorter;  w <- (1 - eta d') w - eta 0.2 sqrt(max(r, c)) X
// which makes X of about equal singular values, 0.7 to 1.2. Jordan et al., "Muon", 2024
// (github.com/KellerJordan/Muon), whose a, b', c' these are; the factor, with which one learning rate and
// decay d' serve both kinds: Liu et al., "Muon is Scalable for LLM Training", 2025, arXiv:2502.16982. As the
// optimizer between rare exchanges: arXiv:2505.23725. Matrices are the weights of linear layers and
// convolutions but the last one; embeddings, norms, biases and the last layer are AdamW's (adamw.cpp). A rule
// that was made for no model knows no matrix. State: u or m, with t as in AdamW, and v, which matrices leave
// at 0. Moves at most AdamW's 28 bytes per parameter, beside 3 products for each of the 5 times. Products are
// summed in double; the published code has bf16. Tests: tests/learn/muon.cpp.
#include <Eigen/Core>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/learn/optimizers/registry.hpp"

namespace simsgd::optimizers {

namespace {

constexpr int kIterations = 5;
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
constexpr double kLikeAdam = 0.2;  // root mean square of an update by AdamW, by which its rate is to fit

struct MuonOptions {
  double momentum = 0.95, beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;

  void fields(Fields& f) {
    f.number("momentum", momentum, "Share of a matrix's momentum that a step keeps").at_least(0).below(1);
    f.number("beta1", beta1, "For AdamW: share of the mean gradient that a step keeps").at_least(0).below(1);
    f.number("beta2", beta2, "For AdamW: share of the mean squared gradient that a step keeps")
        .at_least(0)
        .below(1);
    f.number("epsilon", epsilon, "For AdamW: this is added to the root of the mean squared gradient")
        .above(0);
    f.number("weight_decay", weight_decay, "Each step multiplies the weights by 1 - learning rate x this")
        .at_least(0);
  }
};

/// A matrix's place in the flat vector, column-major.
struct MatrixPlace {
  std::size_t offset = 0;
  Eigen::Index rows = 0, columns = 0;
  std::size_t end() const { return offset + static_cast<std::size_t>(rows * columns); }
};
using Places = std::vector<MatrixPlace>;  // ascending

using Square = Eigen::MatrixXd;

Square orthogonalised(Square x) {
  const bool high = x.rows() > x.cols();
  if (high) x.transposeInPlace();
  x /= x.norm() + 1e-7;
  for (int i = 0; i < kIterations; ++i) {
    const Square a = x * x.transpose();
    x = (kA * x + (kB * a + kC * a * a) * x).eval();
  }
  if (high) x.transposeInPlace();
  return x;
}

/// Calls `of_matrix` with each place, and `of_rest` with each range [begin, end) between them.
template <class Matrix, class Rest>
void walk(const Places& places, std::size_t size, Matrix of_matrix, Rest of_rest) {
  std::size_t at = 0;
  for (const MatrixPlace& place : places) {
    CHECK(place.end() <= size, "a matrix beyond the parameters");
    of_rest(at, place.offset);
    of_matrix(place);
    at = place.end();
  }
  of_rest(at, size);
}

class Muon final : public MatrixRule {
 public:
  Muon(const MuonOptions& options, Places places)
      : options_(options), places_(std::make_shared<const Places>(std::move(places))) {}

  std::vector<std::string> state_names() const override { return {"momentum", "second_moment"}; }
  UpdateBytes bytes_per_parameter() const override { return {.read = 16, .written = 12}; }
  std::vector<MatrixProduct> products(double rows, double columns) const override {
    const double s = std::min(rows, columns), l = std::max(rows, columns);
    std::vector<MatrixProduct> all;
    for (int i = 0; i < kIterations; ++i) {
      all.push_back({.m = s, .n = s, .k = l});
      all.push_back({.m = s, .n = s, .k = s});
      all.push_back({.m = s, .n = l, .k = s});
    }
    return all;
  }

  std::shared_ptr<const UpdateRule> of_model(const std::vector<LayerInfo>& layers) const override {
    Places places;
    for (const LayerInfo& layer : layers)
      if (layer.kind != LayerInfo::Kind::other) places.push_back({layer.offset, layer.rows, layer.columns});
    std::sort(places.begin(), places.end(),
              [](const MatrixPlace& a, const MatrixPlace& b) { return a.offset < b.offset; });
    if (!places.empty() && layers.back().kind != LayerInfo::Kind::other) places.pop_back();
    return std::make_shared<const Muon>(options_, std::move(places));
  }

  ReplicaState step(Executor& executor, double rate, const ReplicaState& replica,
                    const Tensor& gradient) const override {
    Tensor first = first_state(executor, inputs_of(gradient, replica, 0));
    Tensor second = second_state(executor, inputs_of(gradient, replica, 1));
    Tensor next = moved(executor, rate, {replica.parameters, first, second, gradient});
    return {std::move(next), {std::move(first), std::move(second)}};
  }

 private:
  static std::vector<Tensor> inputs_of(const Tensor& gradient, const ReplicaState& replica, std::size_t at) {
    std::vector<Tensor> inputs = {gradient};
    if (at < replica.state.size() && replica.state[at]) inputs.push_back(replica.state[at]);
    return inputs;
  }
  double count() const { return static_cast<double>(places_->size()); }

  /// u of matrices, m elsewhere; t.
  Tensor first_state(Executor& executor, std::vector<Tensor> inputs) const {
    return executor.submit_shared(
        "muon_first", {options_.momentum, options_.beta1, count()}, std::move(inputs),
        [options = options_, places = places_](TensorData& out, auto in) {
          const std::vector<float>& g = in[0]->values;
          out.values = g;
          out.scalars = {in.size() < 2 ? 1 : in[1]->scalars.at(0) + 1};
          const auto mix = [&](std::size_t begin, std::size_t end, double kept, double fresh) {
            for (std::size_t i = begin; i < end; ++i)
              out.values[i] = static_cast<float>(fresh) * g[i] +
                              (in.size() < 2 ? 0 : static_cast<float>(kept) * in[1]->values[i]);
          };
          walk(
              *places, g.size(),
              [&](const MatrixPlace& place) { mix(place.offset, place.end(), options.momentum, 1); },
              [&](std::size_t begin, std::size_t end) { mix(begin, end, options.beta1, 1 - options.beta1); });
        });
  }
  /// v; 0 of matrices.
  Tensor second_state(Executor& executor, std::vector<Tensor> inputs) const {
    return executor.submit_shared(
        "muon_second", {options_.beta2, count()}, std::move(inputs),
        [kept = static_cast<float>(options_.beta2), fresh = static_cast<float>(1 - options_.beta2),
         places = places_](TensorData& out, auto in) {
          const std::vector<float>& g = in[0]->values;
          out.values.assign(g.size(), 0.0F);
          walk(
              *places, g.size(), [](const MatrixPlace&) {},
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i)
                  out.values[i] = fresh * g[i] * g[i] + (in.size() < 2 ? 0 : kept * in[1]->values[i]);
              });
        });
  }

  /// Of (w, u or m, v, g).
  Tensor moved(Executor& executor, double eta, std::vector<Tensor> inputs) const {
    return executor.submit_shared(
        "muon",
        {eta, options_.momentum, options_.beta1, options_.beta2, options_.epsilon, options_.weight_decay,
         count()},
        std::move(inputs), [eta, options = options_, places = places_](TensorData& out, auto in) {
          const std::vector<float>&w = in[0]->values, &u = in[1]->values, &v = in[2]->values;
          CHECK(u.size() == w.size(), "a gradient of another length than the parameters");
          const double t = in[1]->scalars.at(0);
          const auto decay = static_cast<float>(1 - eta * options.weight_decay);
          const auto rate = static_cast<float>(eta / (1 - std::pow(options.beta1, t)));
          const auto spread = static_cast<float>(1 / std::sqrt(1 - std::pow(options.beta2, t)));
          const auto epsilon = static_cast<float>(options.epsilon);
          out.values.resize(w.size());
          walk(
              *places, w.size(),
              [&](const MatrixPlace& place) { move_matrix(place, eta, options, decay, in, out.values); },
              [&](std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i)
                  out.values[i] = decay * w[i] - rate * u[i] / (std::sqrt(v[i]) * spread + epsilon);
              });
        });
  }
  static void move_matrix(const MatrixPlace& place, double eta, const MuonOptions& options, float decay,
                          std::span<const TensorData* const> in, std::vector<float>& moved) {
    using Values = Eigen::Map<const Eigen::MatrixXf>;
    const Values w(in[0]->values.data() + place.offset, place.rows, place.columns);
    const Values u(in[1]->values.data() + place.offset, place.rows, place.columns);
    const Values g(in[3]->values.data() + place.offset, place.rows, place.columns);
    const Square x = orthogonalised(g.cast<double>() + options.momentum * u.cast<double>());
    const double scale =
        eta * kLikeAdam * std::sqrt(static_cast<double>(std::max(place.rows, place.columns)));
    Eigen::Map<Eigen::MatrixXf>(moved.data() + place.offset, place.rows, place.columns) =
        decay * w - (scale * x).cast<float>();
  }

  MuonOptions options_;
  std::shared_ptr<const Places> places_;  // shared with the numeric plane's work
};

}  // namespace

std::vector<OptimizerPlugin> muon() {
  return {{{"muon", "Orthogonalised momentum for matrices inside the model, AdamW for everything else",
            "Jordan et al., 2024; Liu et al., 2025, arXiv:2502.16982"},
           0.001,
           +[](const MuonOptions& options) -> MadeRule {
             return std::make_shared<const Muon>(options, Places());
           }}};
}

}  // namespace simsgd::optimizers
