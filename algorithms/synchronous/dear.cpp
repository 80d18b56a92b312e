// DeAR: an all-reduce is a reduce-scatter and an all-gather, of which the first hides behind this step's
// backward pass and the second behind the next step's forward pass.
//   backward pass of step k: each bucket's reduce-scatter begins as soon as its gradients are ready
//   step k ends when all of them have ended; then the all-gathers begin, first layers first
//   forward pass of step k+1: a layer waits for its buckets' all-gathers, and is updated:
//   x <- x - eta U(1/P sum_j g_j(x)), as in allreduce_sgd
// Zhang, Shi, Chu, Li, "DeAR: Accelerating Distributed Deep Learning with Fine-Grained All-Reduce
// Pipelining", ICDCS 2023, arXiv:2302.12445; its search for the size of buckets is left out. What is
// evaluated after step k is the model before that step's update, which the next forward pass completes (the
// last step's, the run's end: its gathers are waited for). Values: all shards travel with the last bucket's
// operations, and are updated together. Bytes per worker and step: 2 (P-1)/P m. After a crash a worker
// computes again what it lost; the others wait.
#include <algorithm>

#include "algorithms/buckets.hpp"
#include "algorithms/plugin.hpp"
#include "sim/algorithm.hpp"

namespace simsgd::algorithms {

namespace {

/// A bucket's half of an all-reduce. Values travel with the last one, which holds the first layers.
/// `tensors`: gathering them into one buffer and scattering them from it again is charged to the first half,
/// as it is once to an all-reduce; the second one's shards lie in that buffer.
template <class Half>
Half half_of(const Worker& worker, const Bucket& bucket, int tensors) {
  Half half;
  half.bytes = bucket.parameters * worker.workload().bytes_per_parameter;
  half.tensors = tensors;
  return half;
}

/// The update that the next forward pass completes.
class PendingUpdate {
 public:
  PendingUpdate(Worker& worker, const Buckets& buckets) : worker_(worker), buckets_(buckets.buckets) {}

  /// All-gathers of what the reduce-scatters gave, in the order in which the forward pass needs them.
  void begin(const std::vector<Handle<Tensor>>& scattered) {
    step_ = worker_.step();
    gathers_.assign(buckets_.size(), {});
    for (std::size_t i = buckets_.size(); i-- > 0;) {
      auto gather = half_of<AllGather>(worker_, buckets_[i], 0);
      if (i + 1 == buckets_.size()) gather.contribution = scattered[i].result();
      gathers_[i] = worker_.collectives().start(std::move(gather));
    }
    left_ = gathers_.size();
  }
  /// Waits for, and applies, buckets from `bucket` to the last one.
  void need(std::size_t bucket) {
    while (left_ > bucket) {
      const std::size_t i = --left_;
      worker_.wait(gathers_[i]);
      if (i + 1 == gathers_.size()) apply(gathers_[i].result());
      worker_.compute().update(worker_.replica().parameters(),
                               buckets_[i].end_share - buckets_[i].begin_share);
    }
  }

 private:
  void apply(const std::vector<Tensor>& shards) {
    if (shards.empty() || !shards.front()) return;
    apply_late(worker_, step_, concatenate(worker_.executor(), shards));
  }

  Worker& worker_;
  const std::vector<Bucket>& buckets_;
  std::vector<Handle<std::vector<Tensor>>> gathers_;
  std::size_t left_ = 0;  // buckets below it are not applied yet; 0: all are
  std::uint64_t step_ = 0;
};

class Dear final : public LockstepAlgorithm {
 public:
  Dear(const Workload& workload, const FusionSettings& fusion)
      : buckets_(make_buckets(workload, fusion)), first_bucket_(workload.layers.size(), SIZE_MAX) {
    const std::vector<TensorInfo> tensors = workload.tensors();
    for (std::size_t place = 0, bucket = 0; place < tensors.size(); ++place) {
      if (place > buckets_.last_tensors[bucket]) ++bucket;
      std::size_t& first = first_bucket_[static_cast<std::size_t>(tensors[place].layer)];
      first = std::min(first, bucket);
    }
  }

  void run(Worker& worker) const override {
    PendingUpdate update(worker, buckets_);
    std::vector<Handle<Tensor>> scattered;
    GradientOptions options;
    options.ready_at = buckets_.last_tensors;
    options.before_forward = [&](const LayerPass& pass) {
      update.need(first_bucket_[static_cast<std::size_t>(pass.layer)]);
    };
    options.parameters = [&] { return worker.replica().parameters(); };
    options.gradient_ready = [&](const TensorInfo&, const Tensor& gradient) {
      const std::size_t i = scattered.size();
      auto half = half_of<ReduceScatter>(worker, buckets_.buckets[i], buckets_.buckets[i].tensors);
      half.scale = 1.0 / worker.size();
      if (i + 1 == buckets_.buckets.size()) half.contribution = gradient;
      scattered.push_back(worker.collectives().start(std::move(half)));
    };
    while (worker.next_step()) {
      scattered.clear();
      worker.compute().gradient(options);
      for (const Handle<Tensor>& each : scattered) worker.wait(each);
      update.begin(scattered);
    }
    update.need(0);  // the last step's
  }

 private:
  Buckets buckets_;
  std::vector<std::size_t> first_bucket_;  // by layer: the first of those that hold its tensors
};

}  // namespace

std::vector<AlgorithmPlugin> dear() {
  return {{{.name = "dear",
            .summary = "synchronous SGD whose all-reduces hide behind the backward and the next forward pass",
            .citation = "Zhang et al., ICDCS 2023, arXiv:2302.12445"},
           "a reduce-scatter and an all-gather of the gradient: 2 (P-1)/P m by rings",
           {.sends = {Traffic::gradient}, .codecs = AlgorithmUses::Codecs::dense},
           +[](const GradientFusion& fusion, const AlgorithmContext& context) -> MadeAlgorithm {
             note_overlap(context);
             return std::make_unique<Dear>(*context.workload, fusion);
           }}};
}

}  // namespace simsgd::algorithms
