#include "algorithms/sharded/layer_shards.hpp"

#include <algorithm>

namespace simsgd {

namespace {

constexpr int kBearer = 0;  // the layer whose operations carry the values of all

const Layer& layer_at(const Worker& worker, int index) {
  return worker.workload().layers[static_cast<std::size_t>(index)];
}

bool travels(const Worker& worker, int index) {
  return index == kBearer || layer_at(worker, index).parameters() > 0;
}

template <class Operation>
Operation of_layer(const Worker& worker, int index, Traffic traffic, ChannelId channel) {
  Operation operation;
  operation.bytes = layer_at(worker, index).parameters() * worker.workload().bytes_per_parameter;
  operation.tensors = static_cast<int>(layer_at(worker, index).tensors.size());
  operation.traffic = traffic;
  operation.channel = channel;
  return operation;
}

}  // namespace

void LayerGathers::begin(int first, int direction) {
  next_ = first;
  direction_ = direction;
  pending_.assign(layers_.size(), {});
}

void LayerGathers::need(int layer) {
  const int until = std::clamp(layer + direction_ * (ahead_ + 1), -1, static_cast<int>(layers_.size()));
  for (; direction_ * (until - next_) > 0; next_ += direction_) start(next_);
  Handle<std::vector<Tensor>>& gather = pending_[static_cast<std::size_t>(layer)];
  if (!gather) return;
  worker_.wait(gather);
  if (layer == kBearer && !gather.result().empty() && gather.result().front())
    whole_ = concatenate(worker_.executor(), gather.result());
  gather = {};
}

void LayerGathers::start(int layer) {
  if (!travels(worker_, layer)) return;
  auto gather = of_layer<AllGather>(worker_, layer, Traffic::model, 0);
  if (layer == kBearer) gather.contribution = worker_.replica().parameters();
  pending_[static_cast<std::size_t>(layer)] = worker_.collectives().start(std::move(gather));
}

void LayerReductions::start(const LayerPass& pass) {
  if (!travels(worker_, pass.layer)) return;
  auto mean = of_layer<ReduceScatter>(worker_, pass.layer, Traffic::gradient, channel_);
  mean.scale = 1.0 / worker_.size();
  if (pass.last && pass.layer == kBearer) mean.contribution = gradient_;
  started_.push_back(worker_.collectives().start(std::move(mean)));
}

Tensor LayerReductions::wait() {
  Tensor shard;
  for (const Handle<Tensor>& reduction : started_) {
    worker_.wait(reduction);
    shard = reduction.result();  // the bearer's is the last one
  }
  started_.clear();
  gradient_ = {};
  return shard;
}

double most_parameters(const Workload& workload, int count) {
  double most = 0;
  const std::size_t layers = workload.layers.size();
  for (std::size_t first = 0; first < layers; ++first) {
    double sum = 0;
    for (std::size_t i = first; i < std::min(layers, first + static_cast<std::size_t>(count)); ++i)
      sum += workload.layers[i].parameters();
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace simsgd
