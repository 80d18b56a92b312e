// Sharded layers: every rank holds 1/P of each layer's parameters, which are gathered where the layer is
// needed, and gets 1/P of each layer's gradient. Layers are no different on the numeric plane: the values of
// all of them travel with the operations of the first one. Bytes per worker: (P-1)/P of a layer each way.
#pragma once

#include <optional>
#include <vector>

#include "sim/worker.hpp"

namespace simsgd {

/// Ranks that shard the model among them: all, or consecutive ones. Then as many as there are such groups
/// hold the same shard.
struct ShardGroups {
  GroupId within = kWorld;          ///< this rank's group
  int shard = 0, shards = 1;        ///< this rank's shard
  std::optional<GroupId> across{};  ///< holders of the same shard; none: this rank alone
};
/// Groups of so many ranks, which divides the number of workers.
ShardGroups shard_groups(Worker& worker, int shards);

/// One rank's gathers of its layers' parameters. On channel 0.
class LayerGathers {
 public:
  /// Layers are asked for `ahead` of the one that is needed.
  LayerGathers(Worker& worker, const ShardGroups& groups, int ahead)
      : worker_(worker), layers_(worker.workload().layers), group_(groups.within), ahead_(ahead) {}

  /// From now on layers are needed one after another from `first` on, in this direction (1 or -1); none of
  /// them is there.
  void begin(int first, int direction);
  /// Waits for a layer, and has those ahead of it on their way.
  void need(int layer);
  const Tensor& whole() const { return whole_; }  ///< all shards, as they were gathered last

 private:
  void start(int layer);

  Worker& worker_;
  const std::vector<Layer>& layers_;
  GroupId group_;
  int ahead_, next_ = 0, direction_ = 1;
  std::vector<Handle<std::vector<Tensor>>> pending_;  // by layer
  Tensor whole_;
};

/// One rank's reductions of its layers' gradients, to their means over all workers: within its group, and
/// then across groups, on a channel of their own, each as soon as the one before it has ended.
class LayerReductions {
 public:
  /// On channel 0 gathers and reductions take turns, in the order in which they are started.
  LayerReductions(Worker& worker, const ShardGroups& groups, ChannelId channel)
      : worker_(worker), groups_(groups), channel_(channel) {}

  /// The gradient whose values the last micro-batch's reductions carry.
  void give(const Tensor& gradient) { gradient_ = gradient; }
  /// After a layer's backward pass.
  void start(const LayerPass& pass);
  /// Waits for all that were started; this rank's shard of the mean gradient.
  Tensor wait();

 private:
  void start_across(int layer, const Tensor& shard);
  void wait_for_start_of_all();

  Worker& worker_;
  ShardGroups groups_;
  ChannelId channel_;
  Tensor gradient_;
  std::vector<Handle<Tensor>> started_, across_;
  Handle<Nothing> all_across_;  // to be told of, while somebody waits
};

/// Parameters of the `count` consecutive layers that have the most.
double most_parameters(const Workload& workload, int count);

}  // namespace simsgd
