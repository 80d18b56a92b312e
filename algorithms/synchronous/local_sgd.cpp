// Local SGD: every worker trains by itself and the models are averaged every `period` steps.
//   x_i <- x_i - eta U(g_i(x_i));  every `period` steps: x_i <- 1/P sum_j x_j
// Stich, "Local SGD converges fast and communicates little", ICLR 2019, Algorithm 1, arXiv:1805.09767.
// Momentum stays local and is not reset. Bytes per worker and averaging: one all-reduce of the model; nothing
// overlaps.
// After a crash a worker computes again what it lost; the others wait at the next averaging.
#include "algorithms/synchronous/local_sgd.hpp"

namespace simsgd {

namespace {

class LocalSgd final : public Algorithm {
 public:
  explicit LocalSgd(std::uint64_t period) : period_(period) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      worker.apply(worker.compute_gradient());
      if (worker.step() % period_ == 0)
        worker.set_model(worker.allreduce_mean(worker.model(), Traffic::model));
    }
  }

 private:
  std::uint64_t period_;
};

}  // namespace

AlgorithmPlugin local_sgd_plugin() {
  return {{"local_sgd",
           "workers train alone and average their models every `period` steps",
           "Stich, ICLR 2019, arXiv:1805.09767",
           {{"period",
             {{"type", "integer"},
              {"minimum", 1},
              {"default", 1},
              {"description", "steps between two averagings of the models"}}}},
           {}},
          "one all-reduce of the model every `period` steps",
          [](const Parameters& parameters, const AlgorithmContext&) -> std::unique_ptr<const Algorithm> {
            return std::make_unique<LocalSgd>(static_cast<std::uint64_t>(parameters.integer("period", 1)));
          }};
}

}  // namespace simsgd
