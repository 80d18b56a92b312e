// Fully sharded data parallelism (ZeRO): every worker holds and updates 1/P of the model.
//   x_s <- x_s - eta U(s-th part of 1/P sum_i g_i(x)),  s = rank;  x = all shards, gathered where it is
//   needed
//   hsdp: groups of S ranks, as the GPUs of a node, hold a model each; s = rank mod S, and the s-th part of
//   the mean is added up within the group, then across groups
// Stage 1 shards the optimizer's state, 2 the gradients too, 3 the parameters too: then the parameters of
// each layer are gathered before its forward pass, freed, and gathered again before its backward pass,
// `prefetch` layers ahead, in every micro-batch. Gradients are reduce-scattered layer by layer during the
// backward pass of the last micro-batch, or of each. Gathers and reductions take turns on one channel, in the
// order in which they are started: PyTorch gives both to one process group, whose operations run one after
// another on its stream. Rajbhandari, Rasley, Ruwase, He, "ZeRO", SC 2020, arXiv:1910.02054; Zhao et al.,
// "PyTorch FSDP", VLDB 2023, arXiv:2304.11277, 3.3 (prefetching, one stream for both). Bytes per worker
// and step, N of parameters, M micro-batches, R = 1 or M reductions: stages 1 and 2 (R + 1) N (P-1)/P, stage
// 3 (2 M + R) N (P-1)/P; of hsdp the same with S for P, and 2 R N/S (G-1)/G across G = P/S groups, on a
// channel of their own (PyTorch's HYBRID_SHARD). Values travel with the operations of one layer: layers are
// no different on the numeric plane. After a crash a worker computes again what it lost; the others wait.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "algorithms/plugin.hpp"
#include "sim/algorithm.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"
#include "sim/worker.hpp"

namespace simsgd::algorithms {

namespace {

// Sharded layers: every rank holds 1/P of each layer's parameters, which are gathered where the layer is
// needed, and gets 1/P of each layer's gradient. The numbers do not depend on layers, so the values of
// all of them travel with the operations of the first one. Bytes per worker: (P-1)/P of a layer each way.

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

/// Ranks that shard the model among them: all, or consecutive ones. Then as many as there are such groups
/// hold the same shard.
struct ShardGroups {
  GroupId within = kWorld;          ///< this rank's group
  int shard = 0, shards = 1;        ///< this rank's shard
  std::optional<GroupId> across{};  ///< holders of the same shard; none: this rank alone
};

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

/// Groups of so many ranks, which divides the number of workers.
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

/// Parameters of the `count` consecutive layers that have the most.
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

struct FsdpOptions {
  int stage = 3, prefetch = 1, channels = 1;
  bool reduce_each = false;

  void fields(Fields& f) {
    f.whole("stage", stage, "Stage of ZeRO: 1 shards the optimizer state, 2 gradients too, 3 parameters too")
        .at_least(1)
        .at_most(3);
    f.whole("prefetch", prefetch, "Layers that are gathered ahead of the one that computes")
        .at_least(0)
        .at_most(1024);
    f.choice("reduce", reduce_each, {{"once", false}, {"each", true}},
             "When gradients are reduced: once, after the last micro-batch, or after each");
    f.whole(
         "channels", channels,
         "1: gathers and reductions run one after another, as in PyTorch's FSDP with one process group; 2: side by side, as with a process group for each")
        .at_least(1)
        .at_most(2);
  }
};

struct HsdpOptions : FsdpOptions {
  std::optional<int> shards;

  void fields(Fields& f) {
    f.whole("shards", shards, "S: this many consecutive ranks hold a model together; it divides the workers")
        .at_least(1)
        .by_rule("the GPUs of a node");
    FsdpOptions::fields(f);
  }
  void complete(const AlgorithmContext& context) {
    if (!shards) shards = context.cluster ? std::min(context.cluster->gpus_per_node, context.workers) : 1;
  }
};

class Fsdp final : public LockstepAlgorithm {
 public:
  Fsdp(const FsdpOptions& options, int shards) : options_(options), shards_(shards) {}

  void run(Worker& worker) const override {
    const ShardGroups groups = shard_groups(worker, shards_);
    worker.replica().keep_shard(static_cast<std::size_t>(groups.shard),
                                static_cast<std::size_t>(groups.shards));
    const int last = static_cast<int>(worker.workload().layers.size()) - 1;
    const bool frees = options_.stage == 3;
    LayerGathers gathers(worker, groups, frees ? options_.prefetch : last);
    LayerReductions reductions(worker, groups, options_.channels - 1);
    GradientOptions options;
    options.before_forward = [&](const LayerPass& pass) {
      if (pass.layer == 0 && (frees || pass.micro_batch == 0)) gathers.begin(0, 1);
      gathers.need(pass.layer);
    };
    options.parameters = [&] { return gathers.whole(); };
    options.before_backward = [&](const LayerPass& pass) {
      if (frees && pass.layer == last) gathers.begin(last, -1);
      gathers.need(pass.layer);
    };
    options.gradient_ready = [&](const TensorInfo&, const Tensor& gradient) { reductions.give(gradient); };
    options.after_backward = [&](const LayerPass& pass) {
      if (pass.last || options_.reduce_each) reductions.start(pass);
    };
    while (worker.next_step()) {
      worker.compute().gradient(options);
      worker.replica().apply(reductions.wait());
    }
  }
  bool shards() const override { return true; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // Gradients that are reduced once are added up whole.
    const bool whole_gradients =
        options_.stage == 1 || (context.workload.micro_batches > 1 && !options_.reduce_each);
    std::vector<MemoryPart> parts = replica_memory(context);
    for (MemoryPart& part : parts)
      if (part.name == "optimizer state" || (part.name == "gradients" && !whole_gradients) ||
          (part.name == "parameters" && options_.stage == 3))
        part.bytes /= shards_;
    const auto layers = [&](int count) { return kBytesPerNumber * most_parameters(context.workload, count); };
    if (!whole_gradients) parts.push_back({"a layer's gradients", layers(1)});
    if (options_.stage == 3) parts.push_back({"gathered layers", layers(options_.prefetch + 1)});
    return parts;
  }

 private:
  FsdpOptions options_;
  int shards_;
};

MadeAlgorithm make_sharded(const FsdpOptions& options, int shards, const AlgorithmContext& context) {
  if (context.optimizer != nullptr && context.optimizer->clip_norm > 0)
    reject("name", "shards the gradient, and /optimizer/clip_norm needs the norm of the whole gradient",
           "Leave out /optimizer/clip_norm, or use allreduce_sgd");
  if (context.optimizer != nullptr && treats_matrices(*context.optimizer->rule))
    reject("name", "shards the model, and /optimizer works on whole matrices",
           "Use another optimizer, or allreduce_sgd");
  note_overlap(context);
  return std::make_unique<Fsdp>(options, shards);
}

MadeAlgorithm make_fsdp(const FsdpOptions& options, const AlgorithmContext& context) {
  return make_sharded(options, context.workers, context);
}

MadeAlgorithm make_hsdp(const HsdpOptions& options, const AlgorithmContext& context) {
  if (context.workers % *options.shards != 0)
    reject("shards",
           fmt::format("is {}, which does not divide the {} workers", *options.shards, context.workers),
           "Use a divisor of the number of workers");
  return make_sharded(options, *options.shards, context);
}

}  // namespace

std::vector<AlgorithmPlugin> fsdp() {
  return {
      {{.name = "fsdp",
        .summary = "every worker holds and updates 1/P of the model, and gathers the rest where it is needed",
        .citation = "Rajbhandari et al., SC 2020, arXiv:1910.02054"},
       "(R + 1) (P-1)/P m for stages 1 and 2, (2 M + R) (P-1)/P m for stage 3: M micro-batches, R reductions",
       {.sends = {Traffic::gradient, Traffic::model}, .codecs = AlgorithmUses::Codecs::dense},
       make_fsdp},
      {{.name = "hsdp",
        .summary = "groups of S ranks hold a model in parts each, and average their gradients across groups",
        .citation = "Zhao et al., VLDB 2023, arXiv:2304.11277"},
       "as fsdp with S for P; and all-reduces of a shard across G = P/S groups, 2 R (G-1)/G m/S",
       {.sends = {Traffic::gradient, Traffic::model}, .codecs = AlgorithmUses::Codecs::dense},
       make_hsdp}};
}

}  // namespace simsgd::algorithms
