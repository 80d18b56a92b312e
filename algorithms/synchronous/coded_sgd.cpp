// coded_sgd: synchronous SGD whose gradients travel by any codec, with error feedback.
//   e_i <- 0;  each step: p = g_i + e_i;  c_i = C(p);  e_i <- p - c_i;  x <- x - eta U(mean_j c_j)
// Karimireddy, Rebjock, Stich, Jaggi, "Error Feedback Fixes SignSGD and other Gradient Compression Schemes",
// ICML 2019, arXiv:1901.09847, Algorithm 2, where the learning rate is part of p; here an optimizer U
// follows. With the codec qsgd and without error feedback it is QSGD, with sign EF-signSGD. The gradient
// travels as a whole, after the backward pass. Bytes per worker and step: an all-reduce, or of sparse codecs
// an all-gather, of the codec's bits. After a crash a worker computes again what it lost; the others wait.
#include <nlohmann/json.hpp>

#include "algorithms/coded_mean.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct CodedSgdOptions {
  RawValue codec{Json{{"name", "sign"}}};
  bool error_feedback = true;

  void fields(Fields& f) {
    f.plugin("codec", codec, codec_plugins(), "Codec of the gradients");
    f.flag("error_feedback", error_feedback, "Whether the error of a message is added to the next gradient");
  }
};

class CodedSgd final : public Algorithm {
 public:
  CodedSgd(const CodedSgdOptions& options, const AlgorithmContext& context)
      : error_feedback_(options.error_feedback), mean_(options.codec.json(), context) {}

  void run(Worker& worker) const override {
    Tensor error;
    while (worker.next_step()) {
      const Tensor sum = with_error(worker.executor(), worker.compute().gradient(), error);
      const CodedMean::Result result = mean_.run(worker, sum, Traffic::gradient);
      if (error_feedback_ && sum)
        error = linear_combination(worker.executor(), {1.0, -1.0}, {sum, result.sent});
      worker.replica().apply(result.mean);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    std::vector<MemoryPart> more = {{"coded gradient", mean_.message_bytes()}};
    if (error_feedback_) more.push_back({"error", context.vector_bytes()});
    return replica_memory_and(context, std::move(more));
  }

 private:
  bool error_feedback_;
  CodedMean mean_;
};

MadeAlgorithm make_coded_sgd(const CodedSgdOptions& options, const AlgorithmContext& context) {
  return std::make_unique<CodedSgd>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> coded_sgd() {
  return {
      {{.name = "coded_sgd",
        .summary = "synchronous SGD whose gradients travel by any codec, with error feedback",
        .citation = "Karimireddy et al., ICML 2019, arXiv:1901.09847"},
       "an all-reduce of the gradient in the codec's bits; of sparse codecs an all-gather, (P-1) messages",
       {.sends = {Traffic::gradient},
        .activities = {Activity::selection},
        .codecs = AlgorithmUses::Codecs::own},
       make_coded_sgd}};
}

}  // namespace simsgd::algorithms
