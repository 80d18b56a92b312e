// async_local_sgd: workers train alone for H steps and tell a server how far they went; the server takes over
// each difference as it comes, and sends back what it has then. Nobody waits for a slow worker.
//   worker i: D = theta_i - x_i after H steps from theta_i, its last answer;  x_i <- theta_i <- the next
//   answer server: theta <- theta less D, by delayed Nesterov momentum (delayed_nesterov.hpp)
// Liu, Chhaparia, Douillard, Kale, Rusu, Shen, Szlam, Ranzato, "Asynchronous Local-SGD Training for Language
// Modeling", 2024, arXiv:2401.09135, Algorithms 1 and 3, told from memory. Its steps dealt by speed (DyLU)
// are left out: every worker does H. The server is on rank 0, whose own differences need no message; taking
// over a difference takes no time there. Bytes per worker and H steps: the model each way. After a crash a
// worker computes again what it lost; the server serves the others meanwhile.
#include "algorithms/low_communication/outer_nesterov.hpp"
#include "algorithms/low_communication/served_workers.hpp"
#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct AsyncLocalOptions {
  int inner_steps = 32;
  double outer_rate = 0.7, momentum = 0.9, spread = 0;
  std::optional<int> delay;

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: steps that a worker trains before it sends a difference")
        .at_least(1);
    f.number("outer_rate", outer_rate, "eps: the server applies differences with this learning rate")
        .above(0);
    f.number("outer_momentum", momentum, "beta: the server keeps this much of its momentum")
        .at_least(0)
        .below(1);
    f.whole("delay", delay, "N: the momentum is updated once every this many differences")
        .at_least(1)
        .by_rule("the number of workers");
    f.number("spread", spread, "c N: this share of the momentum is applied evenly over all N differences")
        .at_least(0)
        .at_most(1);
  }
  void complete(const AlgorithmContext& context) {
    if (!delay) delay = context.workers;
  }
};

class AsyncLocalSgd final : public Algorithm {
 public:
  explicit AsyncLocalSgd(const AsyncLocalOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    const DelayedNesterovSettings settings{.rate = options_.outer_rate,
                                           .momentum = options_.momentum,
                                           .delay = *options_.delay,
                                           .spread = options_.spread};
    const auto server = std::make_shared<DelayedNesterov>(settings, worker.replica().parameters());
    run_served(worker, options_.inner_steps, 0, [server, &worker](const Tensor& difference) -> ServedModel {
      server->take(worker.executor(), difference);
      return {server->model(), server->taken()};
    });
  }
  bool needs_others() const override { return false; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // Rank 0's: model, momentum and sum of the server beside the model that a worker began with.
    return replica_memory_and(context, {{"start and, on rank 0, the server", 4 * context.vector_bytes()}});
  }

 private:
  AsyncLocalOptions options_;
};

MadeAlgorithm make_async_local_sgd(const AsyncLocalOptions& options, const AlgorithmContext&) {
  return std::make_unique<AsyncLocalSgd>(options);
}

}  // namespace

std::vector<AlgorithmPlugin> async_local_sgd() {
  return {{{.name = "async_local_sgd",
            .summary = "workers train alone; a server applies each one's progress when it arrives",
            .citation = "Liu et al., 2024, arXiv:2401.09135"},
           "the model to rank 0 and back every H steps; nothing from rank 0's own worker",
           {.sends = {Traffic::model}, .interval = "inner_steps"},
           make_async_local_sgd}};
}

}  // namespace simsgd::algorithms
