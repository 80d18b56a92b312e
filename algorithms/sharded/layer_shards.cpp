#include "algorithms/sharded/layer_shards.hpp"

#include <algorithm>

namespace simsgd {

namespace {

constexpr int kBearer = 0;        // the layer whose operations carry the values of all
constexpr ChannelId kAcross = 2;  // after those of gathers and reductions

const Layer& layer_at(const Worker& worker, int index) {
  return worker.workload().layers[static_cast<std::size_t>(index)];
}

bool travels(const Worker& worker, int index) {
  return index == kBearer || layer_at(worker, index).parameters() > 0;
}

template <class Operation>
Operation of_layer(const Worker& worker, int index, Traffic traffic, GroupId group, ChannelId channel) {
  Operation operation;
  operation.group = group;
  operation.bytes = layer_at(worker, index).parameters() * worker.workload().bytes_per_parameter;
  operation.tensors = static_cast<int>(layer_at(worker, index).tensors.size());
  operation.traffic = traffic;
  operation.channel = channel;
  return operation;
}

}  // namespace

ShardGroups shard_groups(Worker& worker, int shards) {
  ShardGroups groups{.shard = worker.rank() % shards, .shards = shards};
  if (shards == worker.size()) return groups;
  const int first = worker.rank() - groups.shard;
  std::vector<int> within, across;
  for (int i = 0; i < shards; ++i) within.push_back(first + i);
  for (int rank = groups.shard; rank < worker.size(); rank += shards) across.push_back(rank);
  groups.within = worker.collectives().group(within);
  groups.across = worker.collectives().group(across);
  return groups;
}

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
  auto gather = of_layer<AllGather>(worker_, layer, Traffic::model, group_, 0);
  if (layer == kBearer) gather.contribution = worker_.replica().parameters();
  pending_[static_cast<std::size_t>(layer)] = worker_.collectives().start(std::move(gather));
}

void LayerReductions::start(const LayerPass& pass) {
  if (!travels(worker_, pass.layer)) return;
  auto mean = of_layer<ReduceScatter>(worker_, pass.layer, Traffic::gradient, groups_.within, channel_);
  mean.scale = 1.0 / worker_.size();
  if (pass.last && pass.layer == kBearer) mean.contribution = gradient_;
  const Handle<Tensor> reduction = worker_.collectives().start(std::move(mean));
  started_.push_back(reduction);
  if (groups_.across)
    worker_.background().then(
        reduction, [this, layer = pass.layer, reduction] { start_across(layer, reduction.result()); });
}

void LayerReductions::start_across(int layer, const Tensor& shard) {
  auto sum = of_layer<AllReduce>(worker_, layer, Traffic::gradient, *groups_.across, kAcross);
  sum.bytes /= groups_.shards;
  sum.tensors = 0;  // from the buffer that it was scattered into
  sum.contribution = shard;
  across_.push_back(worker_.collectives().start(std::move(sum)));
  if (all_across_ && across_.size() == started_.size()) worker_.background().signal(all_across_);
}

void LayerReductions::wait_for_start_of_all() {
  if (!groups_.across || across_.size() == started_.size()) return;
  all_across_ = worker_.background().make_event();
  worker_.wait(all_across_);
  all_across_ = {};
}

Tensor LayerReductions::wait() {
  Tensor shard;
  wait_for_start_of_all();
  for (const Handle<Tensor>& reduction : groups_.across ? across_ : started_) {
    worker_.wait(reduction);
    shard = reduction.result();  // the bearer's is the last one
  }
  started_.clear();
  across_.clear();
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
