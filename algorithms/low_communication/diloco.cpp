// DiLoCo: workers train alone for H steps by any optimizer; an outer optimizer follows the mean of how far
// they went. Streaming: the model travels in F fragments of consecutive layers, each every H steps, and what
// comes back tau steps after it left is mixed in. At step k fragment f goes if H divides k + floor(f H / F):
//   D = 1/P sum_i (g - x_i);  u <- mu u + D;  g <- g - eta (D + mu u)  (Nesterov);  x_i <- m x_i + (1 - m) g
// g: what the workers agreed on last, the same everywhere. With eta = 1, mu = 0, m = 0, F = 1 it is
// local_sgd. Douillard et al., "DiLoCo", arXiv:2311.08105, Algorithm 1; "Streaming DiLoCo", arXiv:2501.18512.
// Bytes per worker and H steps: an all-reduce of the model at `bits` per number, to which differences are
// rounded, or in those of a codec (the paper: e3m0), by the kernel quantise; sums are fp32. After a crash a
// worker computes again what it lost; others wait.
#include <fmt/format.h>

#include "algorithms/exchange.hpp"
#include "algorithms/low_communication/outer_nesterov.hpp"
#include "algorithms/plugin.hpp"
#include "sim/learn/codec.hpp"
#include "sim/learn/precision.hpp"

namespace simsgd::algorithms {

namespace {

struct DilocoOptions {
  int inner_steps = 32, fragments = 1, overlap = 0;
  OuterSettings outer;
  std::optional<int> bits;
  RawValue codec;
  std::optional<double> mixing;

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: steps between two exchanges of a fragment").at_least(1);
    outer.fields(f);
    f.whole("fragments", fragments, "F: the model travels in this many parts of consecutive layers, in turn")
        .at_least(1);
    f.whole("overlap", overlap, "tau: a fragment arrives this many steps after it was sent").at_least(0);
    f.whole("bits", bits, "A number takes this many bits on the wire")
        .at_least(2)
        .at_most(32)
        .by_rule("network.precision");
    f.plugin("codec", codec, codec_plugins(), "Codec of the differences, in place of rounding to `bits`")
        .by_rule("none");
    f.number("mixing", mixing,
             "m: a worker continues with this share of its own model; the rest is the agreed one")
        .at_least(0)
        .at_most(1)
        .by_rule("0 without overlap, else 0.5");
  }
  void complete(const AlgorithmContext& context) {
    if (!bits && !codec.present() && context.workload)
      bits = static_cast<int>(8 * context.workload->bytes_per_parameter);
    if (!mixing) mixing = overlap > 0 ? 0.5 : 0;
  }
};

MadeCodec codec_of(const DilocoOptions& options) {
  if (!options.codec.present()) return nullptr;
  if (options.bits)
    reject("bits", "has no effect with a codec, which sets its own number of bits",
           "Leave out one of the two");
  MadeCodec codec = make_codec(options.codec.json());
  if (codec->sparse())
    reject("codec", "is sparse, and an all-reduce adds up dense vectors",
           "Use a dense codec, or the method sparseloco");
  return codec;
}

/// Seconds for each parameter. To the precision of messages everything is rounded, and that is in their
/// costs.
double rounding_s(const DilocoOptions& options, const MadeCodec& codec, const AlgorithmContext& context) {
  const double numbers = context.workload->parameters();
  const double bits = codec ? codec->bits(numbers) / numbers : *options.bits;
  if (context.cluster == nullptr || (!codec && bits >= 8 * context.workload->bytes_per_parameter)) return 0;
  note_kernel(context, DeviceKernel::quantise);
  return quantise_s(context.cluster->device, {.numbers = 1, .bits = bits});
}

class Diloco final : public Algorithm {
 public:
  Diloco(const DilocoOptions& options, const AlgorithmContext& context)
      : options_(options),
        buckets_(equal_buckets(*context.workload, options.fragments)),
        codec_(codec_of(options)),
        outer_s_(outer_step_s(context)),
        rounding_s_(rounding_s(options, codec_, context)) {}

  void run(Worker& worker) const override {
    std::vector<Fragment> fragments;
    for (const Bucket& bucket : buckets_) fragments.push_back({{options_.outer, own_part(worker, bucket)}});
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      for (std::size_t f = 0; f < fragments.size(); ++f) {
        if (is_due(worker.step(), f)) send(worker, buckets_[f], fragments[f]);
        if (fragments[f].due_back == worker.step()) receive(worker, buckets_[f], fragments[f]);
      }
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"outer model and momentum", 2 * context.vector_bytes()}});
  }

 private:
  struct Fragment {
    OuterNesterov outer;
    Handle<Tensor> sent{};       // the mean difference
    std::uint64_t due_back = 0;  // the step after which it is mixed in
  };

  bool is_due(std::uint64_t step, std::size_t fragment) const {
    const auto steps = static_cast<std::uint64_t>(options_.inner_steps);
    return (step + fragment * steps / buckets_.size()) % steps == 0;
  }
  void send(Worker& worker, const Bucket& bucket, Fragment& fragment) const {
    const Tensor gone = linear_combination(worker.executor(), {1.0, -1.0},
                                           {fragment.outer.agreed(), own_part(worker, bucket)});
    if (rounding_s_ > 0)
      worker.compute().spend(Activity::compute, rounding_s_ * bucket.parameters * worker.compute().slower(),
                             "quantise");
    const double bits = codec_ ? codec_->bits(bucket.parameters) / bucket.parameters : *options_.bits;
    AllReduce mean = mean_of(worker, bucket, bits / 8, Traffic::model);
    mean.contribution = codec_
                            ? transmitted(worker.executor(), codec_, gone, worker.stream(Purpose::algorithm))
                            : rounded_to_bits(worker.executor(), gone, *options_.bits);
    fragment.sent = worker.collectives().start(std::move(mean));
    fragment.due_back = worker.step() + static_cast<std::uint64_t>(options_.overlap);
  }
  void receive(Worker& worker, const Bucket& bucket, Fragment& fragment) const {
    worker.wait(fragment.sent);
    fragment.outer.step(worker.executor(), fragment.sent.result());
    worker.compute().spend(Activity::compute, outer_s_ * bucket.parameters * worker.compute().slower());
    const Tensor mixed = linear_combination(worker.executor(), {*options_.mixing, 1 - *options_.mixing},
                                            {own_part(worker, bucket), fragment.outer.agreed()});
    set_own_part(worker, bucket, mixed);
  }

  DilocoOptions options_;
  std::vector<Bucket> buckets_;
  MadeCodec codec_;    // null: rounded to bits
  double outer_s_;     // of an outer step, for each parameter
  double rounding_s_;  // of a difference, for each parameter
};

MadeAlgorithm make_diloco(const DilocoOptions& options, const AlgorithmContext& context) {
  if (options.overlap >= options.inner_steps)
    reject("overlap", fmt::format("is not below inner_steps, which is {}", options.inner_steps),
           fmt::format("Use at most {}, or more inner_steps", options.inner_steps - 1));
  if (const int layers = layers_with_parameters(*context.workload); options.fragments > layers)
    reject("fragments", fmt::format("is more than the workload's {} layers with parameters", layers),
           fmt::format("Use at most {}", layers));
  return std::make_unique<Diloco>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> diloco() {
  return {{{.name = "diloco",
            .summary = "workers train alone; an outer optimizer follows their mean progress",
            .citation = "Douillard et al., 2023, arXiv:2311.08105; streaming: arXiv:2501.18512"},
           "one all-reduce of the model every H steps, in `fragments`, at `bits` per number",
           {.sends = {Traffic::model}, .interval = "inner_steps", .codecs = AlgorithmUses::Codecs::own},
           make_diloco}};
}

}  // namespace simsgd::algorithms
