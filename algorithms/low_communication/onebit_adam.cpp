// 1-bit Adam: after W steps of Adam its second moment is frozen, and the first one travels by a codec of one
// bit a number, with error feedback at both ends.
//   steps 1 to W: m <- b1 m + (1 - b1) g, v <- b2 v + (1 - b2) g^2 of the mean g of all gradients
//   then: p = b1 m + (1 - b1) g_i + e_i;  c_i = C(p);  e_i <- p - c_i           an all-to-all: worker j gets
//         q = [1/P sum_i c_i + f]_j;  [m]_j <- C(q);  f <- q - [m]_j              the j-th parts; an
//         all-gather
//   always x <- x - eta U(m / (sqrt(v) + epsilon))
// C: the codec sign, here with a magnitude for each block. U: the optimizer of the scenario; the paper's is
// plain SGD. No correction of bias. Tang, Gan, Awan, Rajbhandari, Li, Lian, Liu, Zhang, He, "1-bit Adam",
// ICML 2021, arXiv:2102.02888, Algorithm 1 as zij's canon tells it (github.com/junaidaliop/zij,
// canon/math/1bitadam.md); DeepSpeed's default W is 100,000, here assumed 100. Bytes per worker: an
// all-reduce of the gradient in each of W steps, then an all-to-all and an all-gather of the codec's bits.
// After a crash a worker computes again what it lost; the others wait.
#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::algorithms {

namespace {

struct OnebitAdamOptions {
  std::uint64_t warmup_steps = 100;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  RawValue codec{Json{{"name", "sign"}}};

  void fields(Fields& f) {
    f.whole("warmup_steps", warmup_steps, "W: steps of Adam before the second moment is frozen").at_least(1);
    f.number("beta1", beta1, "Share of the first moment that a step keeps").at_least(0).below(1);
    f.number("beta2", beta2, "Share of the second moment that a step keeps").at_least(0).below(1);
    f.number("epsilon", epsilon, "This is added to the root of the second moment").above(0);
    f.plugin("codec", codec, codec_plugins(), "Codec of the first moment after the warm-up");
  }
};

/// kept * moment + (1 - kept) * g, or g^2; a moment that is empty is 0.
Tensor moment_of(Executor& executor, double kept, const Tensor& moment, const Tensor& g, bool squared) {
  if (!g) return {};
  std::vector<Tensor> inputs = {g};
  if (moment) inputs.push_back(moment);
  return executor.submit_shared("onebit_moment", {kept, squared ? 1.0 : 0.0}, std::move(inputs),
                                [kept, squared](TensorData& out, auto in) {
                                  const auto fresh = static_cast<float>(1 - kept),
                                             old = static_cast<float>(kept);
                                  for (const float x : in[0]->values)
                                    out.values.push_back(fresh * (squared ? x * x : x));
                                  for (std::size_t i = 0; in.size() > 1 && i < out.values.size(); ++i)
                                    out.values[i] += old * in[1]->values[i];
                                });
}

Tensor direction_of(Executor& executor, const Tensor& first, const Tensor& second, double epsilon) {
  if (!first) return {};
  return executor.submit_shared("onebit_direction", {epsilon}, {first, second},
                                [e = static_cast<float>(epsilon)](TensorData& out, auto in) {
                                  out.values = in[0]->values;
                                  for (std::size_t i = 0; i < out.values.size(); ++i)
                                    out.values[i] /= std::sqrt(in[1]->values[i]) + e;
                                });
}

/// `parts`: those of all workers, one after another.
Tensor mean_of_parts(Executor& executor, const Tensor& parts, int workers) {
  if (!parts) return {};
  return executor.submit({parts}, [workers](TensorData& out, auto in) {
    const std::vector<float>& all = in[0]->values;
    const std::size_t size = all.size() / static_cast<std::size_t>(workers);
    out.values.assign(size, 0.0F);
    for (std::size_t i = 0; i < all.size(); ++i) out.values[i % size] += all[i];
    for (float& x : out.values) x /= static_cast<float>(workers);
  });
}

class OnebitAdam final : public Algorithm {
 public:
  OnebitAdam(const OnebitAdamOptions& options, const AlgorithmContext& context)
      : options_(options), coding_{make_codec(options.codec.json())} {
    if (coding_.codec->sparse())
      reject("codec", "is sparse, and the first moment is sent in full", "Use a dense codec, such as sign");
    note_kernel(context, DeviceKernel::vector_pass);
    // Of each number: g, m and v are read, m, v and the direction written.
    const double bytes = 3 * kBytesPerNumber * context.workload->parameters();
    if (context.cluster != nullptr)
      adam_s_ = vector_pass_s(context.cluster->device, {.read = bytes, .written = bytes});
  }

  void run(Worker& worker) const override {
    Executor& executor = worker.executor();
    Tensor first, second;
    while (worker.next_step()) {
      const Tensor gradient = worker.compute().gradient();
      if (worker.step() <= options_.warmup_steps) {
        const Tensor mean = mean_over_all(worker, gradient, Traffic::gradient, {.exact = SIZE_MAX});
        first = moment_of(executor, options_.beta1, first, mean, false);
        second = moment_of(executor, options_.beta2, second, mean, true);
      } else {
        first = agreed(worker, moment_of(executor, options_.beta1, first, gradient, false));
      }
      if (adam_s_ > 0)
        worker.compute().spend(Activity::compute, adam_s_ * worker.compute().slower(), "moments");
      worker.replica().apply(direction_of(executor, first, second, options_.epsilon));
    }
  }
  const Coding* coding() const override { return &coding_; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(
        context,
        {{"moments and error of the served part", context.vector_bytes() * (2 + 1.0 / context.workers)},
         {"gathered first moment", coding_.codec->bits(context.workload.parameters()) / 8}});
  }

 private:
  /// The mean of all workers' first moments, as it arrives.
  static Tensor agreed(Worker& worker, const Tensor& moment) {
    AllToAll ballots;
    ballots.bytes = worker.workload().model_bytes();
    ballots.contribution = moment;
    const Tensor parts = worker.collectives().run(std::move(ballots));
    AllGather all;
    all.bytes = worker.workload().model_bytes();
    all.contribution = mean_of_parts(worker.executor(), parts, worker.size());
    const std::vector<Tensor> means = worker.collectives().run(std::move(all));
    return moment ? concatenate(worker.executor(), means) : Tensor();
  }

  OnebitAdamOptions options_;
  Coding coding_;
  double adam_s_ = 0;
};

MadeAlgorithm make_onebit_adam(const OnebitAdamOptions& options, const AlgorithmContext& context) {
  return std::make_unique<OnebitAdam>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> onebit_adam() {
  return {
      {{.name = "onebit_adam",
        .summary = "Adam that freezes its second moment, and sends one bit for each number of its first",
        .citation = "Tang et al., ICML 2021, arXiv:2102.02888"},
       "an all-reduce of the gradient in W steps; then an all-to-all and an all-gather of the codec's bits",
       {.sends = {Traffic::gradient}, .codecs = AlgorithmUses::Codecs::own},
       make_onebit_adam}};
}

}  // namespace simsgd::algorithms
