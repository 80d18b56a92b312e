#include "sim/workload.hpp"

namespace simsgd {

double Workload::parameters() const {
  double total = 0;
  for (const Layer& layer : layers) total += layer.parameters();
  return total;
}

double Workload::forward_s() const {
  double total = 0;
  for (const Layer& layer : layers) total += layer.forward_s;
  return total;
}

double Workload::backward_s() const {
  double total = 0;
  for (const Layer& layer : layers) total += layer.backward_s;
  return total;
}

std::vector<TensorInfo> Workload::tensors() const {
  std::vector<TensorInfo> forward;
  double offset = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const double parameters : layers[l].tensors) {
      forward.push_back({static_cast<int>(l), parameters, offset});
      offset += parameters;
    }
  }
  return {forward.rbegin(), forward.rend()};
}

}  // namespace simsgd
