#include "sim/workload.hpp"

#include "sim/base/check.hpp"
#include "sim/base/log_interpolation.hpp"

namespace simsgd {

double Layer::parameters() const {
  double total = 0;
  for (const TensorShape& tensor : tensors) total += tensor.parameters();
  return total;
}

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

double Workload::parts_per_step(int parts) const {
  if (!step_law || parts == 1) return parts;
  const double samples = static_cast<double>(batch) / micro_batches;
  return step_law->seconds(samples) / step_law->seconds(samples / parts);
}

std::vector<TensorInfo> Workload::tensors() const {
  std::vector<TensorInfo> forward;
  double offset = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const TensorShape& shape : layers[l].tensors) {
      forward.push_back({static_cast<int>(l), shape, offset});
      offset += shape.parameters();
    }
  }
  return {forward.rbegin(), forward.rend()};
}

PassTimes::PassTimes(const Workload& workload)
    : tensors(workload.tensors()), forward_s(workload.forward_s()) {
  auto tensor = tensors.begin();
  for (int layer = static_cast<int>(workload.layers.size()) - 1; layer >= 0; --layer) {
    backward_s += workload.layers[static_cast<std::size_t>(layer)].backward_s;
    for (; tensor != tensors.end() && tensor->layer == layer; ++tensor) tensor_ready_s.push_back(backward_s);
  }
}

double StepLaw::seconds(double samples) const {
  if (times.empty()) return fixed_s + samples * per_sample_s;
  CHECK(holds(samples), "a step time was read off a table beyond its range");
  std::vector<LogPoint> table;
  for (const Time& time : times) table.push_back({time.samples, time.seconds});
  return *log_interpolated(table, samples, Outside::continued);
}

bool StepLaw::holds(double samples) const {
  return times.empty() || (samples >= times.front().samples && samples <= times.back().samples);
}

}  // namespace simsgd
