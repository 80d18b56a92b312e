#include "algorithms/python/kfac_part.hpp"

#include "sim/base/errors.hpp"

namespace simsgd::python {

KfacPart::KfacPart(Worker& worker, const FactorLayout& layout, const Cluster* cluster, const KfacMath& math)
    : worker_(worker),
      layout_(layout),
      math_(math),
      timed_(kfac_layers(worker.workload())),
      costs_(kfac_costs(cluster, worker.workload(), timed_)),
      factors_(layout.layers.size()) {}

std::vector<std::vector<double>> KfacPart::costs() const {
  std::vector<double> numbers;
  for (const WorkloadFactor& factor : timed_.factors) numbers.push_back(factor.elements());
  return {numbers, costs_.factor_s, costs_.inverse_s, {costs_.precondition_s}};
}

std::vector<std::vector<double>> KfacPart::layers() const {
  std::vector<std::vector<double>> all;
  for (const LayerFactors& layer : layout_.layers)
    all.push_back({static_cast<double>(layer.a_dim), static_cast<double>(layer.g_dim),
                   static_cast<double>(layer.a_offset), static_cast<double>(layer.g_offset)});
  return all;
}

std::vector<FactorPair> KfacPart::cut(const Tensor& factors) {
  if (worker_.executor().get(factors).values.size() != layout_.size)
    throw RunError("K-FAC was given another number of values than w.gradient(factors=True) gives.");
  std::vector<FactorPair> pairs;
  for (const LayerFactors& layer : layout_.layers) {
    const auto part = [&](std::size_t begin, std::int64_t dim) {
      return slice(worker_.executor(), factors, begin, begin + triangle(static_cast<std::size_t>(dim)));
    };
    pairs.push_back({part(layer.a_offset, layer.a_dim), part(layer.g_offset, layer.g_dim)});
  }
  return pairs;
}

void KfacPart::average(const Tensor& factors) {
  if (!factors) return;
  const std::vector<FactorPair> fresh = cut(factors);
  for (std::size_t l = 0; l < fresh.size(); ++l)
    factors_[l] =
        average_factors(worker_.executor(), layout_.layers[l], factors_[l], fresh[l], math_.old_weight);
}

Tensor KfacPart::invert() {
  std::vector<Tensor> parts;
  inverses_.clear();
  for (std::size_t l = 0; l < factors_.size(); ++l) {
    if (!factors_[l].a) return {};
    const LayerFactors& layer = layout_.layers[l];
    inverses_.push_back({inverse_a(worker_.executor(), layer, factors_[l], math_, worker_.step()),
                         inverse_g(worker_.executor(), layer, factors_[l], math_, worker_.step())});
    parts.push_back(inverses_.back().a);
    parts.push_back(inverses_.back().g);
  }
  return parts.empty() ? Tensor{} : concatenate(worker_.executor(), parts);
}

void KfacPart::set_inverses(const Tensor& inverses) {
  if (inverses) inverses_ = cut(inverses);
}

Tensor KfacPart::precondition(const Tensor& gradient) {
  if (!gradient) return {};
  if (inverses_.empty()) throw RunError("K-FAC has no inverses to precondition with: call invert() first.");
  return simsgd::precondition(worker_.executor(), layout_, gradient, inverses_,
                              worker_.replica().learning_rate(), math_.kl_clip);
}

}  // namespace simsgd::python
