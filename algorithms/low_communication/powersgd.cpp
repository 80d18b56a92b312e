// PowerSGD: gradients travel as products of two thin matrices. For every matrix M = G_i + E_i (rows x
// columns) of worker i, with the Q (columns x r) of the last step:
//   P = mean_i M Q;  P <- orthonormal basis of its columns;  Q = mean_i M' P;  x <- x - eta U(P Q')
//   E_i <- M - P Q'  (error feedback: what was not sent comes back)
// r = min(rank, rows, columns), of each matrix. The first Q is random, the same everywhere; later ones are
// warm starts: one power iteration a step. Vectors travel as they are, with the first all-reduce. P Q' is
// exact where mean M has rank r at most and Q was warm. Vogels, Karimireddy, Jaggi, NeurIPS 2019,
// arXiv:1905.13727, Algorithms 1 and 2. Orthogonalisation: Householder QR (paper: Gram-Schmidt; the same
// space). Bytes per worker and step: all-reduces of r (rows + columns) numbers of each matrix, and of the
// vectors. Nothing overlaps with the backward pass. After a crash a worker computes again what it lost; the
// others wait.

#include "algorithms/low_communication/low_rank.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct PowerSgdOptions {
  int rank = 4;

  void fields(Fields& f) {
    f.whole("rank", rank,
            "r: the two factors of each matrix have this many columns, at most its rows and its columns")
        .at_least(1);
  }
};

class PowerSgd final : public Algorithm {
 public:
  PowerSgd(LowRankLayout layout, LowRankCosts costs) : layout_(std::move(layout)), costs_(costs) {}

  void run(Worker& worker) const override {
    Executor& executor = worker.executor();
    Tensor right = layout_.learned.empty() ? Tensor{} : random_right(executor, layout_, worker.seed());
    Tensor residual;
    while (worker.next_step()) {
      const Tensor gradient = worker.compute().gradient();
      const Tensor sum = residual ? linear_combination(executor, {1.0, 1.0}, {gradient, residual}) : gradient;
      spend(worker, costs_.product_s, "M Q");
      const Tensor left = mean(worker, times_right(executor, layout_, sum, right), costs_.left_bytes);
      const Tensor basis = orthonormal(executor, layout_, left);
      spend(worker, costs_.qr_s + costs_.product_s, "orthogonalise, M' P");
      right = mean(worker, times_left(executor, layout_, sum, basis), costs_.right_bytes);
      const Tensor update = product(executor, layout_, basis, right);
      spend(worker, costs_.product_s + costs_.residual_s, "P Q'");
      residual = residual_after(executor, layout_, sum, update);
      worker.replica().apply(update);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context,
                              {{"residual", context.vector_bytes()},
                               {"factors", kBytesPerNumber * (costs_.left_numbers + costs_.right_numbers)}});
  }

 private:
  /// Kernels of so many seconds at nominal speed.
  static void spend(Worker& worker, double seconds, const char* label) {
    worker.compute().spend(Activity::factor, seconds * worker.compute().slower(), label);
  }
  static Tensor mean(Worker& worker, Tensor contribution, double bytes) {
    AllReduce all;
    all.bytes = bytes;
    all.contribution = std::move(contribution);
    all.scale = 1.0 / worker.size();
    return worker.collectives().run(std::move(all));
  }

  LowRankLayout layout_;
  LowRankCosts costs_;
};

MadeAlgorithm make_powersgd(const PowerSgdOptions& options, const AlgorithmContext& context) {
  LowRankLayout layout = low_rank_layout(options.rank, *context.workload, context.learner);
  note_kernel(context, DeviceKernel::gemm);
  note_kernel(context, DeviceKernel::qr);
  note_kernel(context, DeviceKernel::vector_pass);
  return std::make_unique<PowerSgd>(std::move(layout), low_rank_costs(options.rank, context));
}

}  // namespace

std::vector<AlgorithmPlugin> powersgd() {
  return {{{.name = "powersgd",
            .summary = "gradients travel as products of two thin matrices, with error feedback",
            .citation = "Vogels, Karimireddy, Jaggi, NeurIPS 2019, arXiv:1905.13727"},
           "all-reduces of r (rows + columns) numbers of each matrix, and of the vectors",
           {.sends = {Traffic::gradient},
            .activities = {Activity::factor},
            .codecs = AlgorithmUses::Codecs::none},
           make_powersgd}};
}

}  // namespace simsgd::algorithms
