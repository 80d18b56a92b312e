// DeMo: every worker keeps a momentum of its own, and sends only its fastest parts: the largest coefficients
// of its cosine transform. What was sent leaves the momentum.
//   m_i <- beta m_i + g_i;  c_i = C(m_i);  m_i <- m_i - c_i;  x <- x - eta U(sign(mean_j c_j))
// C: the codec dct_topk. U: the optimizer of the scenario; the paper's is plain SGD (momentum 0). Peng,
// Quesnelle, Kingma, "DeMo: Decoupled Momentum Optimization", 2024, arXiv:2411.19870, Algorithm 1; beta 0.999
// and signs as in its published code. sign(0) is 0: where nobody sent anything nothing moves. Bytes per
// worker and step: an all-gather of the codec's bits. After a crash a worker computes again what it lost; the
// others wait.
#include <nlohmann/json.hpp>

#include "algorithms/coded_mean.hpp"
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

class Demo final : public Algorithm {
 public:
  Demo(const DemoOptions& options, const AlgorithmContext& context)
      : decay_(options.decay), mean_(options.codec.json(), context) {}

  void run(Worker& worker) const override {
    Executor& executor = worker.executor();
    Tensor momentum;
    while (worker.next_step()) {
      const Tensor sum = with_error(executor, worker.compute().gradient(), momentum, decay_);
      const CodedMean::Result result = mean_.run(worker, sum, Traffic::gradient);
      if (sum) momentum = linear_combination(executor, {1.0, -1.0}, {sum, result.sent});
      worker.replica().apply(signs_of(executor, result.mean));
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(
        context, {{"momentum", context.vector_bytes()}, {"coded parts of it", mean_.message_bytes()}});
  }

 private:
  double decay_;
  CodedMean mean_;
};

MadeAlgorithm make_demo(const DemoOptions& options, const AlgorithmContext& context) {
  return std::make_unique<Demo>(options, context);
}

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
       make_demo}};
}

}  // namespace simsgd::algorithms
