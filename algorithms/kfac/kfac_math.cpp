#include "algorithms/kfac/kfac_math.hpp"

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include <cmath>

#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

FactorLayout factor_layout(const std::vector<LayerInfo>& layers) {
  FactorLayout layout;
  for (const LayerInfo& layer : layers) {
    if (layer.kind == LayerInfo::Kind::other) continue;
    LayerFactors factors;
    factors.layer = layer;
    factors.a_dim = layer.columns + (layer.bias ? 1 : 0);
    factors.g_dim = layer.rows;
    factors.a_offset = layout.size;
    factors.g_offset = factors.a_offset + triangle(static_cast<std::size_t>(factors.a_dim));
    layout.size = factors.g_offset + triangle(static_cast<std::size_t>(factors.g_dim));
    layout.layers.push_back(std::move(factors));
  }
  return layout;
}

void FactorStatistics::compute(const Learner& learner, const LayerTap<float>& tap,
                               std::vector<float>& out) const {
  compute_factors<float>(factor_layout(learner.model().layers()), tap, out);
}

namespace {

using FloatMatrix = Matrix<float>;

std::vector<float> packed_identity(std::int64_t dim) {
  std::vector<float> packed(triangle(static_cast<std::size_t>(dim)), 0.0F);
  for (std::size_t j = 0; j < static_cast<std::size_t>(dim); ++j) packed[packed_diagonal(j)] = 1.0F;
  return packed;
}

Tensor average(Executor& executor, std::int64_t dim, const Tensor& old, const Tensor& fresh, double weight) {
  if (!fresh) return {};
  const Tensor before =
      old ? old
          : executor.submit_shared("kfac_identity", {static_cast<double>(dim)}, {},
                                   [dim](TensorData& out, auto) { out.values = packed_identity(dim); });
  return linear_combination(executor, {weight, 1 - weight}, {before, fresh});
}

/// tr M / dim M.
double mean_diagonal(const std::vector<float>& packed, std::int64_t dim) {
  double sum = 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(dim); ++j)
    sum += static_cast<double>(packed[packed_diagonal(j)]);
  return sum / static_cast<double>(dim);
}

/// What is wrong with a factor, for the sentence that ends the run.
[[noreturn]] void cannot_invert(const std::string& factor, std::uint64_t step, const std::string& why,
                                const std::string& remedy) {
  throw RunError(fmt::format("K-FAC cannot invert {} in step {}: {}. {}.", factor, step, why, remedy));
}

bool all_finite(const std::vector<float>& values) {
  return Eigen::Map<const Eigen::ArrayXf>(values.data(), static_cast<Eigen::Index>(values.size()))
      .allFinite();
}

// The inverse Z of L L', L the lower triangle. Panel by panel from the last: of L' Z = 1 / L the right side
// is zero above the panel's diagonal block, and below it Z is known, for it is symmetric.
FloatMatrix inverse_of_product(const FloatMatrix& lower) {
  const Eigen::Index dim = lower.rows();
  FloatMatrix inverse(dim, dim);
  for (Eigen::Index end = dim; end > 0;) {
    const Eigen::Index size = (end - 1) % kFactorPanel + 1, begin = end - size, known = dim - end;
    auto panel = inverse.block(0, begin, end, size);
    panel.topRows(begin).setZero();
    panel.bottomRows(size).setIdentity();
    auto diagonal = panel.bottomRows(size);
    lower.block(begin, begin, size, size).triangularView<Eigen::Lower>().solveInPlace(diagonal);
    if (known > 0)
      panel.noalias() -=
          lower.block(end, 0, known, end).transpose() * inverse.block(begin, end, size, known).transpose();
    lower.topLeftCorner(end, end).triangularView<Eigen::Lower>().transpose().solveInPlace(panel);
    end = begin;
  }
  return inverse;
}

std::vector<float> damped_inverse(const std::vector<float>& packed, std::int64_t dim, double damping,
                                  const std::string& factor, std::uint64_t step) {
  if (!all_finite(packed))
    cannot_invert(
        factor, step, "it has entries that are not finite",
        "The training diverged; use a smaller learning rate, a larger damping or a smaller kl_clip");
  FloatMatrix full = unpack_symmetric<float>(packed, dim);
  full.diagonal().array() += static_cast<float>(damping);
  const Eigen::LLT<Eigen::Ref<FloatMatrix>> cholesky(full);
  std::vector<float> result(packed.size());
  if (cholesky.info() == Eigen::Success) pack_upper<float>(inverse_of_product(full), result);
  if (cholesky.info() != Eigen::Success || !all_finite(result))
    cannot_invert(
        factor, step,
        fmt::format("with a damping of {:.3g} on its diagonal it is not positive definite", damping),
        "Use a larger damping");
  return result;
}

Tensor invert(Executor& executor, const LayerFactors& layer, const FactorPair& factors, const KfacMath& math,
              std::uint64_t step, bool is_a) {
  if (!factors.a || !factors.g) return {};
  const std::int64_t dim = is_a ? layer.a_dim : layer.g_dim;
  const std::string name = fmt::format("the factor {} of the layer \"{}\" ({} x {})", is_a ? "A" : "G",
                                       layer.layer.name, dim, dim);
  return executor.submit_shared(
      is_a ? "kfac_inverse_a" : "kfac_inverse_g", {math.damping, math.split_by_pi ? 1.0 : 0.0},
      {factors.a, factors.g}, [=, a_dim = layer.a_dim, g_dim = layer.g_dim](TensorData& out, auto in) {
        double damping = math.damping;
        if (math.split_by_pi) {
          const double pi =
              std::sqrt(mean_diagonal(in[0]->values, a_dim) / mean_diagonal(in[1]->values, g_dim));
          damping = std::sqrt(math.damping) * (is_a ? pi : 1 / pi);
        }
        out.values = damped_inverse(in[is_a ? 0 : 1]->values, dim, damping, name, step);
      });
}

}  // namespace

FactorPair average_factors(Executor& executor, const LayerFactors& layer, const FactorPair& old,
                           const FactorPair& fresh, double old_weight) {
  return {average(executor, layer.a_dim, old.a, fresh.a, old_weight),
          average(executor, layer.g_dim, old.g, fresh.g, old_weight)};
}

Tensor inverse_a(Executor& executor, const LayerFactors& layer, const FactorPair& factors,
                 const KfacMath& math, std::uint64_t step) {
  return invert(executor, layer, factors, math, step, true);
}

Tensor inverse_g(Executor& executor, const LayerFactors& layer, const FactorPair& factors,
                 const KfacMath& math, std::uint64_t step) {
  return invert(executor, layer, factors, math, step, false);
}

Tensor preconditioned_layer(Executor& executor, const LayerFactors& layer, const Tensor& gradient,
                            const FactorPair& inverses) {
  if (!gradient) return {};
  return executor.submit_shared(
      "kfac_layer", {static_cast<double>(layer.layer.offset)}, {gradient, inverses.a, inverses.g},
      [layer](TensorData& out, auto in) {
        const Eigen::Map<const FloatMatrix> own(in[0]->values.data() + layer.layer.offset, layer.g_dim,
                                                layer.a_dim);
        out.values.resize(layer.layer.size());
        const FloatMatrix halfway = unpack_symmetric<float>(in[2]->values, layer.g_dim) * own;
        Eigen::Map<FloatMatrix>(out.values.data(), layer.g_dim, layer.a_dim).noalias() =
            halfway * unpack_symmetric<float>(in[1]->values, layer.a_dim);
      });
}

Tensor clipped_direction(Executor& executor, const FactorLayout& layout, const Tensor& gradient,
                         const std::vector<Tensor>& preconditioned, double learning_rate, double kl_clip) {
  if (!gradient) return {};
  std::vector<Tensor> inputs = {gradient};
  inputs.insert(inputs.end(), preconditioned.begin(), preconditioned.end());
  return executor.submit_shared("kfac_clip", {learning_rate, kl_clip}, std::move(inputs),
                                [layout, learning_rate, kl_clip](TensorData& out, auto in) {
                                  out.values = in[0]->values;
                                  double alignment = 0;  // sum of V W over layers and entries
                                  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
                                    const LayerInfo& layer = layout.layers[l].layer;
                                    const auto size = static_cast<Eigen::Index>(layer.size());
                                    const Eigen::Map<const Eigen::ArrayXf> direction(in[l + 1]->values.data(),
                                                                                     size);
                                    Eigen::Map<Eigen::ArrayXf> own(out.values.data() + layer.offset, size);
                                    alignment += (direction.cast<double>() * own.cast<double>()).sum();
                                    own = direction;
                                  }
                                  const double change = std::fabs(alignment) * learning_rate * learning_rate;
                                  if (!(kl_clip > 0) || !(change > kl_clip)) return;
                                  const auto nu = static_cast<float>(std::sqrt(kl_clip / change));
                                  for (const LayerFactors& layer : layout.layers)
                                    for (std::size_t i = 0; i < layer.layer.size(); ++i)
                                      out.values[layer.layer.offset + i] *= nu;
                                });
}

Tensor precondition(Executor& executor, const FactorLayout& layout, const Tensor& gradient,
                    const std::vector<FactorPair>& inverses, double learning_rate, double kl_clip) {
  std::vector<Tensor> preconditioned;
  for (std::size_t l = 0; l < layout.layers.size(); ++l)
    preconditioned.push_back(preconditioned_layer(executor, layout.layers[l], gradient, inverses[l]));
  return clipped_direction(executor, layout, gradient, preconditioned, learning_rate, kl_clip);
}

}  // namespace simsgd
