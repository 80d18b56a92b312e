#include "algorithms/kfac/kfac_layers.hpp"

#include <algorithm>

#include "sim/learn/model.hpp"

namespace simsgd {

namespace {

/// Of a layer's factors; 0 where it has none.
struct FactorDims {
  int a = 0, g = 0;
};

FactorDims factor_dims(const Layer& layer) {
  const bool linear = layer.kind == Layer::Kind::conv || layer.kind == Layer::Kind::fc;
  if (!linear || layer.tensors.empty() || !layer.tensors.front().is_matrix()) return {};
  const TensorShape& weight = layer.tensors.front();
  const bool bias = std::any_of(
      layer.tensors.begin() + 1, layer.tensors.end(),
      [&weight](const TensorShape& each) { return !each.is_matrix() && each.rows == weight.rows; });
  return {static_cast<int>(weight.columns) + (bias ? 1 : 0), static_cast<int>(weight.rows)};
}

}  // namespace

KfacLayers kfac_layers(const Workload& workload) {
  KfacLayers result;
  const std::vector<TensorInfo> tensors = workload.tensors();
  for (std::size_t l = 0; l < workload.layers.size(); ++l) {
    const Layer& layer = workload.layers[l];
    const FactorDims dims = factor_dims(layer);
    if (dims.g == 0) continue;
    const int index = static_cast<int>(l);
    result.factors.push_back({index, true, dims.a, layer.positions, "A " + layer.name});
    result.factors.push_back({index, false, dims.g, layer.positions, "G " + layer.name});
    // The first place at which this layer and all behind it are through.
    std::size_t position = 0;
    while (position + 1 < tensors.size() && tensors[position + 1].layer >= index) ++position;
    result.ready_at.push_back(position);
  }
  return result;
}

LearnedLayers learned_layers(const Learner* learner, std::size_t count) {
  LearnedLayers learned;
  learned.of.resize(count);
  if (learner == nullptr || count == 0) return learned;
  learned.layout = factor_layout(learner->model().layers());
  const std::size_t layers = learned.layout.layers.size();
  for (std::size_t l = 0; l < layers; ++l) learned.of[(2 * l + 1) * count / (2 * layers)].push_back(l);
  return learned;
}

}  // namespace simsgd
