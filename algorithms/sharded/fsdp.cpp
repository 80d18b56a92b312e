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

#include "algorithms/plugin.hpp"
#include "algorithms/sharded/layer_shards.hpp"
#include "sim/algorithm.hpp"
#include "sim/base/errors.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"

namespace simsgd::algorithms {

namespace {

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
       {.sends = {Traffic::gradient, Traffic::model}},
       make_fsdp},
      {{.name = "hsdp",
        .summary = "groups of S ranks hold a model in parts each, and average their gradients across groups",
        .citation = "Zhao et al., VLDB 2023, arXiv:2304.11277"},
       "as fsdp with S for P; and all-reduces of a shard across G = P/S groups, 2 R (G-1)/G m/S",
       {.sends = {Traffic::gradient, Traffic::model}},
       make_hsdp}};
}

}  // namespace simsgd::algorithms
