// Local SGD: every worker trains by itself and the models are averaged every `period` steps.
//   x_i <- x_i - eta U(g_i(x_i));  every `period` steps: x_i <- 1/P sum_j x_j
// Stich, "Local SGD converges fast and communicates little", ICLR 2019, Algorithm 1, arXiv:1805.09767.
// Momentum stays local and is not reset. Bytes per worker and averaging: one all-reduce of the model; nothing
// overlaps.
// After a crash a worker computes again what it lost; the others wait at the next averaging.
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct LocalSgdOptions {
  std::uint64_t period = 1;

  void fields(Fields& f) {
    f.whole("period", period, "Steps between two averagings of the models; 0: workers only train alone");
  }
};

class LocalSgd final : public Algorithm {
 public:
  explicit LocalSgd(const LocalSgdOptions& options) : period_(options.period) {}

  void run(Worker& worker) const override {
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      if (period_ > 0 && worker.step() % period_ == 0)
        worker.replica().set(mean_over_all(worker, worker.replica().parameters(), Traffic::model));
    }
  }

 private:
  std::uint64_t period_;
};

}  // namespace

std::vector<AlgorithmPlugin> local_sgd() {
  return {{{.name = "local_sgd",
            .summary = "workers train alone and average their models every `period` steps",
            .citation = "Stich, ICLR 2019, arXiv:1805.09767"},
           "one all-reduce of the model every `period` steps",
           {.sends = {Traffic::model}, .interval = "period"},
           +[](const LocalSgdOptions& options, const AlgorithmContext&) -> MadeAlgorithm {
             return std::make_unique<LocalSgd>(options);
           }}};
}

}  // namespace simsgd::algorithms
