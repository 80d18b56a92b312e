// SparseLoCo: workers train alone for H steps by any optimizer, and gather the largest parts of how far they
// went; what is not sent decays and comes back, which takes the place of DiLoCo's outer momentum.
//   every H steps: D = g - x_i;  e_i <- beta e_i + D;  c_i = C(e_i);  e_i <- e_i - c_i
//                  g <- g - alpha mean_j c_j;  x_i <- g
// g: what the workers agreed on last, the same everywhere. C: top-k in chunks of 4,096, 2 bits a value.
// Sarfi, Therien, Lidin, Belilovsky, "Communication Efficient LLM Pre-training with SparseLoCo", 2025,
// arXiv:2508.15706, Algorithm 1. With a codec that loses nothing, beta = 0 and alpha = 1 it is local_sgd.
// Bytes per worker and H steps: an all-gather of the codec's bits. After a crash a worker computes again what
// it lost; others wait.
#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct SparselocoOptions {
  int inner_steps = 30;
  double outer_rate = 1, decay = 0.95;
  RawValue codec{Json{{"name", "chunk_topk"}, {"chunk", 4096}, {"k", 128}, {"value_bits", 2}}};

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: steps between two exchanges").at_least(1);
    f.number("outer_rate", outer_rate, "alpha: the outer step has this learning rate").above(0);
    f.number("decay", decay, "beta: share of the unsent rest that is kept for the next exchange")
        .at_least(0)
        .at_most(1);
    f.plugin("codec", codec, codec_plugins(), "Codec of the differences");
  }
};

class Sparseloco final : public Algorithm {
 public:
  Sparseloco(const SparselocoOptions& options, const AlgorithmContext& context)
      : options_(options), coding_{make_codec(options.codec.json()), options.decay} {
    note_kernel(context, DeviceKernel::vector_pass);
    // Of each number: g, x and e are read, e written; then g and the mean read, g and x written.
    if (context.cluster != nullptr)
      outer_s_ = vector_pass_s(context.cluster->device, {.read = 20 * context.workload->parameters(),
                                                         .written = 12 * context.workload->parameters()});
  }

  void run(Worker& worker) const override {
    const auto combined = [&](const Tensor& x, double weight, const Tensor& y) {
      return x ? linear_combination(worker.executor(), {1.0, weight}, {x, y}) : Tensor();
    };
    Tensor agreed = worker.replica().parameters();
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      if (worker.step() % static_cast<std::uint64_t>(options_.inner_steps) != 0) continue;
      worker.compute().spend(Activity::compute, outer_s_ * worker.compute().slower());
      const Tensor mean = mean_over_all(worker, combined(agreed, -1, worker.replica().parameters()),
                                        Traffic::model, {.change = true});
      agreed = combined(agreed, -options_.outer_rate, mean);
      worker.replica().set(agreed);
    }
  }
  const Coding* coding() const override { return &coding_; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"outer model", context.vector_bytes()}});
  }

 private:
  SparselocoOptions options_;
  Coding coding_;
  double outer_s_ = 0;
};

MadeAlgorithm make_sparseloco(const SparselocoOptions& options, const AlgorithmContext& context) {
  return std::make_unique<Sparseloco>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> sparseloco() {
  return {{{.name = "sparseloco",
            .summary = "workers train alone; the largest parts of their progress are gathered",
            .citation = "Sarfi et al., 2025, arXiv:2508.15706"},
           "one all-gather of the codec's bits every H steps: (P-1) messages",
           {.sends = {Traffic::model},
            .activities = {Activity::selection},
            .interval = "inner_steps",
            .codecs = AlgorithmUses::Codecs::own},
           make_sparseloco}};
}

}  // namespace simsgd::algorithms
