// Fusion: gradients travel in buckets of several tensors, so that an all-reduce is worth its latency, and
// each bucket leaves as soon as its last tensor is ready (wait-free backpropagation). Poseidon, Zhang et al.,
// USENIX ATC 2017, arXiv:1706.03292 (wait-free backpropagation); PyTorch DDP, Li et al., VLDB 2020,
// arXiv:2006.15704 (25 MiB buckets).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/fields.hpp"
#include "sim/worker.hpp"

namespace simsgd {

struct AlgorithmContext;

struct FusionSettings {
  enum class Kind : std::uint8_t {
    none,       ///< every tensor by itself
    threshold,  ///< consecutive tensors until a bucket holds `threshold_bytes`
    all,        ///< one message after the whole backward pass
  } kind = Kind::threshold;
  double threshold_bytes = 25.0 * 1024 * 1024;

 protected:
  void fields(Fields& f, std::string_view meaning);
  void threshold_field(Fields& f);
};

/// Of gradients: where nothing is said as the cluster's stack takes them, else by threshold.
struct GradientFusion : FusionSettings {
  void fields(Fields& f);
  void complete(const AlgorithmContext& context);

 private:
  std::optional<Kind> said_{};
};

/// Consecutive tensors (in the order in which they become ready) that travel together.
struct Bucket {
  double parameters = 0;  ///< of the workload
  int tensors = 0;
  double begin_share =
      0;  ///< the part [begin, end) of the flat parameter vector, in forward order, as shares of
  double end_share = 0;  ///< the whole: the same part of the learner's vector travels with it
};

struct Buckets {
  std::vector<Bucket> buckets;            ///< in the order in which they are sent: last layers first
  std::vector<std::size_t> last_tensors;  ///< of each, its last tensor's place in Workload::tensors
};

Buckets make_buckets(const Workload& workload, const FusionSettings& settings);
/// Of so many consecutive tensors each, in the order in which they become ready.
Buckets make_buckets(const Workload& workload, const std::vector<std::size_t>& tensors);

int layers_with_parameters(const Workload& workload);

/// So many buckets of consecutive layers, in forward order, cut where they come nearest to equal sizes; each
/// has parameters, however large one layer is. `count` is at most layers_with_parameters.
std::vector<Bucket> equal_buckets(const Workload& workload, int count);

/// An all-reduce that takes the mean over all workers of what they contribute, of a bucket's size.
AllReduce mean_of(Worker& worker, const Bucket& bucket, double bytes_per_number, Traffic traffic);

/// The same of the bucket's part of a gradient.
AllReduce gradient_mean(Worker& worker, const Bucket& bucket, const Tensor& gradient);

/// The all-reduce of one step's gradient, bucket by bucket, while the backward pass goes on.
class BucketedAllreduce {
 public:
  BucketedAllreduce(Worker& worker, const Buckets& buckets) : worker_(worker), buckets_(buckets) {}

  /// Computes the step's gradient and sends each bucket when it is full. Returns the worker's own gradient.
  /// The callbacks of `also` are called too, gradient_ready at its `ready_at` and after a bucket that ends
  /// there has been sent.
  Tensor compute_gradient(const GradientOptions& also = {});
  /// Waits for all buckets; the mean gradient over all workers.
  Tensor wait();

 private:
  void send_next(const Tensor& gradient);

  Worker& worker_;
  const Buckets& buckets_;
  std::vector<Handle<Tensor>> started_;
};

// An update that the forward pass after its step completes: what is evaluated after step k is the model
// before that step's update.

/// By the optimizer, at the learning rate of `step`. Nothing without a gradient.
inline void apply_late(Worker& worker, std::uint64_t step, const Tensor& gradient) {
  if (!gradient) return;
  Replica& replica = worker.replica();
  replica.restore(replica.optimizer().step(worker.executor(), step, replica.state(), gradient));
}

}  // namespace simsgd
