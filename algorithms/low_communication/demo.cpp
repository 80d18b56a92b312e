// DeMo: every worker keeps a momentum of its own, and sends only its fastest parts: the largest coefficients
// of its cosine transform. What was sent leaves the momentum, which is error feedback that keeps a share.
//   m_i <- beta m_i + g_i;  c_i = C(m_i);  m_i <- m_i - c_i;  x <- x - eta U(sign(mean_j c_j))
// C: the codec dct_topk. U: the optimizer of the scenario; the paper's is plain SGD (momentum 0). Peng,
// Quesnelle, Kingma, "DeMo: Decoupled Momentum Optimization", 2024, arXiv:2411.19870, Algorithm 1; beta 0.999
// and signs as in its published code. sign(0) is 0: where nobody sent anything nothing moves. Bytes per
// worker and step: an all-gather of the codec's bits. After a crash a worker computes again what it lost; the
// others wait.
#include <nlohmann/json.hpp>

#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct DemoOptions {
  double decay = 0.999;
  RawValue codec{Json{{"name", "dct_topk"}}};

  void fields(Fields& f) {
    f.number("decay", decay, "beta: share of the momentum that a step keeps").at_least(0).at_most(1);
    f.plugin("codec", codec, codec_plugins(), "Codec of the parts of the momentum that are sent");
  }
};

Tensor signs_of(Executor& executor, const Tensor& values) {
  if (!values) return {};
  return executor.submit_shared("signs_of", {}, {values}, [](TensorData& out, auto in) {
    out.values = in[0]->values;
    for (float& x : out.values) x = x > 0 ? 1.0F : x < 0 ? -1.0F : x;  // a NaN stays one
  });
}

class Demo final : public LockstepAlgorithm {
 public:
  explicit Demo(Coding coding) : coding_(std::move(coding)) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      const Tensor mean = mean_over_all(worker, worker.compute().gradient(), Traffic::gradient);
      worker.replica().apply(signs_of(worker.executor(), mean));
    }
  }
  const Coding* coding() const override { return &coding_; }

 private:
  Coding coding_;
};

}  // namespace

std::vector<AlgorithmPlugin> demo() {
  return {
      {{.name = "demo",
        .summary = "workers keep their momentum and send its largest cosine coefficients; signs are applied",
        .citation = "Peng, Quesnelle, Kingma, 2024, arXiv:2411.19870"},
       "one all-gather of the codec's bits: (P-1) messages",
       {.sends = {Traffic::gradient},
        .activities = {Activity::selection},
        .codecs = AlgorithmUses::Codecs::own},
       +[](const DemoOptions& options, const AlgorithmContext&) -> MadeAlgorithm {
         return std::make_unique<Demo>(Coding{make_codec(options.codec.json()), options.decay});
       }}};
}

}  // namespace simsgd::algorithms
