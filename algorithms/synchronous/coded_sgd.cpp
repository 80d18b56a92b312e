// coded_sgd: synchronous SGD whose gradients travel by any codec, with error feedback.
//   e_i <- 0;  each step: p = g_i + e_i;  c_i = C(p);  e_i <- p - c_i;  x <- x - eta U(mean_j c_j)
// Karimireddy, Rebjock, Stich, Jaggi, "Error Feedback Fixes SignSGD and other Gradient Compression Schemes",
// ICML 2019, arXiv:1901.09847, Algorithm 2, where the learning rate is part of p; here an optimizer U
// follows. With the codec qsgd and without error feedback it is QSGD, with sign EF-signSGD. It is
// allreduce_sgd with a codec of its own and one message, after the backward pass. Bytes per worker and step:
// an all-reduce, or of sparse codecs an all-gather, of the codec's bits. After a crash a worker computes
// again what it lost; the others wait.
#include <nlohmann/json.hpp>

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

class CodedSgd final : public LockstepAlgorithm {
 public:
  explicit CodedSgd(Coding coding) : coding_(std::move(coding)) {}

  void run(Worker& worker) const override {
    while (worker.next_step())
      worker.replica().apply(mean_over_all(worker, worker.compute().gradient(), Traffic::gradient));
  }
  const Coding* coding() const override { return &coding_; }

 private:
  Coding coding_;
};

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
       +[](const CodedSgdOptions& options, const AlgorithmContext&) -> MadeAlgorithm {
         return std::make_unique<CodedSgd>(
             Coding{make_codec(options.codec.json()), options.error_feedback ? 1.0 : 0.0});
       }}};
}

}  // namespace simsgd::algorithms
