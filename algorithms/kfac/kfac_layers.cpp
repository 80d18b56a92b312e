#include "algorithms/kfac/kfac_layers.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

KfacLayers kfac_layers(const Workload& workload) {
  KfacLayers result;
  const std::vector<TensorInfo> tensors = workload.tensors();
  for (std::size_t l = 0; l < workload.layers.size(); ++l) {
    const Layer& layer = workload.layers[l];
    if (layer.a_dim == 0 || layer.g_dim == 0) continue;
    const int index = static_cast<int>(l);
    result.factors.push_back({index, true, layer.a_dim, layer.factor_positions, "A " + layer.name});
    result.factors.push_back({index, false, layer.g_dim, layer.factor_positions, "G " + layer.name});
    // The first place at which this layer and all behind it are through.
    std::size_t place = 0;
    while (place + 1 < tensors.size() && tensors[place + 1].layer >= index) ++place;
    result.ready_at.push_back(place);
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
