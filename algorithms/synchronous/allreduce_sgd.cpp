// Allreduce-SGD: synchronous data-parallel SGD with wait-free backpropagation.
//   x <- x - eta U(1/P sum_j g_j(x)),  U the optimizer; all replicas stay equal.
// Li et al., "PyTorch Distributed", VLDB 2020, arXiv:2006.15704; Zhang et al., "Poseidon", USENIX ATC 2017,
// arXiv:1706.03292 (each gradient leaves while the backward pass goes on).
// Bytes per worker and step: one all-reduce of the model, 2 (P-1)/P m for a ring. Steps: 2 (P-1) for each
// bucket.
// After a crash a worker computes again what it lost; the others wait.
#include "algorithms/buckets.hpp"
#include "algorithms/plugin.hpp"
#include "sim/algorithm.hpp"

namespace simsgd::algorithms {

namespace {

class AllreduceSgd final : public LockstepAlgorithm {
 public:
  AllreduceSgd(const Workload& workload, const FusionSettings& fusion)
      : buckets_(make_buckets(workload, fusion)) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      BucketedAllreduce mean(worker, buckets_);
      mean.compute_gradient();
      worker.replica().apply(mean.wait());
    }
  }

 private:
  Buckets buckets_;
};

}  // namespace

std::vector<AlgorithmPlugin> allreduce_sgd() {
  return {{{.name = "allreduce_sgd",
            .summary = "synchronous SGD: gradients are averaged over all workers in every step",
            .citation = "Li et al., VLDB 2020, arXiv:2006.15704"},
           "one all-reduce of the gradient: 2 (P-1)/P m by a ring",
           {.sends = {Traffic::gradient}},
           +[](const GradientFusion& fusion, const AlgorithmContext& context) -> MadeAlgorithm {
             note_overlap(context);
             return std::make_unique<AllreduceSgd>(*context.workload, fusion);
           }}};
}

}  // namespace simsgd::algorithms
