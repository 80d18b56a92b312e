// async_local_sgd: workers train alone for H steps and tell a server how far they went; the server takes over
// each difference as it comes, and sends back what it has then. Nobody waits for a slow worker.
//   worker i: D = theta_i - x_i after H steps from theta_i, its last answer;  x_i <- theta_i <- the next
//   answer server, at the t-th difference, with delayed Nesterov momentum (m = S = 0 at first):
//     S <- S + D;  where N divides t: m <- beta m + S / N,  theta <- theta - eps ((1 - c N + c) beta m + D /
//     N), S <- 0;  else theta <- theta - eps (c beta m + D / N)
// N 1, c 0 is momentum at every difference. Liu, Chhaparia, Douillard, Kale, Rusu, Shen, Szlam, Ranzato,
// "Asynchronous Local-SGD Training for Language Modeling", 2024, arXiv:2401.09135, Algorithms 1 and 3, told
// from memory. Its steps dealt by speed (DyLU) are left out: every worker does H. The server is on rank 0,
// whose own differences need no message; taking over a difference takes no time there. Bytes per worker and H
// steps: the model each way. After a crash a worker computes again what it lost; the server serves the others
// meanwhile.
#include <algorithm>

#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

constexpr int kDifference = 0x616c, kModel = 0x616d;  // tags: to the server, and back

struct AsyncLocalOptions {
  int inner_steps = 32;
  double outer_rate = 0.7, momentum = 0.9, spread = 0;
  std::optional<int> delay;

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: a worker's steps between two differences").at_least(1);
    f.number("outer_rate", outer_rate, "eps: learning rate of the server").above(0);
    f.number("outer_momentum", momentum, "beta: the server's momentum").at_least(0).below(1);
    f.whole("delay", delay, "N: differences from one update of the momentum to the next")
        .at_least(1)
        .by_rule("the number of workers");
    f.number("spread", spread, "c N: share of the momentum that is applied evenly at all N differences")
        .at_least(0)
        .at_most(1);
  }
  void complete(const AlgorithmContext& context) {
    if (!delay) delay = context.workers;
  }
};

/// What the server has. Shared by rank 0's run() and the handlers that its worker keeps.
class DifferenceServer {
 public:
  DifferenceServer(const AsyncLocalOptions& options, Tensor model)
      : options_(options), model_(std::move(model)) {}

  /// Takes over a difference.
  void take(Executor& executor, const Tensor& difference) {
    ++taken_;
    if (!difference) return;
    const double delay = *options_.delay, c = options_.spread / delay, beta = options_.momentum;
    sum_ = sum_ ? linear_combination(executor, {1.0, 1.0}, {sum_, difference}) : difference;
    const bool updates = taken_ % static_cast<std::uint64_t>(*options_.delay) == 0;
    if (updates) {
      momentum_ = momentum_ ? linear_combination(executor, {beta, 1 / delay}, {momentum_, sum_})
                            : linear_combination(executor, {1 / delay}, {sum_});
      sum_ = {};
    }
    std::vector<double> weights = {1.0, -options_.outer_rate / delay};
    std::vector<Tensor> terms = {model_, difference};
    const double share = updates ? 1 - c * delay + c : c;
    if (momentum_ && share > 0) {
      weights.push_back(-options_.outer_rate * share * beta);
      terms.push_back(momentum_);
    }
    model_ = linear_combination(executor, weights, terms);
  }
  const Tensor& model() const { return model_; }
  std::uint64_t taken() const { return taken_; }

 private:
  AsyncLocalOptions options_;
  Tensor model_, momentum_, sum_;
  std::uint64_t taken_ = 0;
};

/// A worker's side: what it waits for, and what came.
struct Answer {
  Handle<Nothing> arrived;
  Tensor model;
  double taken = 0;  ///< differences that the server had taken then
};

Message model_sized(const Worker& worker, Tensor values, double taken) {
  Message message;
  message.bytes = worker.workload().model_bytes();
  message.traffic = Traffic::model;
  message.values = std::move(values);
  message.numbers = {taken};
  return message;
}

class AsyncLocalSgd final : public Algorithm {
 public:
  explicit AsyncLocalSgd(const AsyncLocalOptions& options) : options_(options) {}

  void run(Worker& worker) const override {
    const auto server = std::make_shared<DifferenceServer>(options_, worker.replica().parameters());
    const auto answer = std::make_shared<Answer>();
    if (worker.rank() == 0)
      worker.background().serve(kDifference, [server, &worker](const Message& message) {
        server->take(worker.executor(), message.values);
        worker.background().post(message.from, kModel,
                                 model_sized(worker, server->model(), static_cast<double>(server->taken())));
      });
    else
      worker.background().serve(kModel, [answer, &worker](const Message& message) {
        answer->model = message.values;
        answer->taken = message.numbers.at(0);
        worker.background().signal(answer->arrived);
      });
    Tensor start = worker.replica().parameters();
    double known = 0;
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      if (worker.step() % static_cast<std::uint64_t>(options_.inner_steps) != 0) continue;
      const Tensor gone =
          start ? linear_combination(worker.executor(), {1.0, -1.0}, {start, worker.replica().parameters()})
                : Tensor();
      exchange(worker, *server, *answer, gone);
      // Differences that others had brought in meanwhile.
      worker.record().staleness(std::max(0.0, answer->taken - known - 1));
      known = answer->taken;
      start = answer->model;
      if (start) worker.replica().set(start);
    }
  }
  bool needs_others() const override { return false; }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    // Rank 0's: model, momentum and sum of the server beside the model that a worker began with.
    return replica_memory_and(context, {{"start and, on rank 0, the server", 4 * context.vector_bytes()}});
  }

 private:
  static void exchange(Worker& worker, DifferenceServer& server, Answer& answer, const Tensor& gone) {
    if (worker.rank() == 0) {
      server.take(worker.executor(), gone);
      answer.model = server.model();
      answer.taken = static_cast<double>(server.taken());
      return;
    }
    answer.arrived = worker.background().make_event();
    worker.background().post(0, kDifference, model_sized(worker, gone, 0));
    worker.wait(answer.arrived);
  }

  AsyncLocalOptions options_;
};

MadeAlgorithm make_async_local_sgd(const AsyncLocalOptions& options, const AlgorithmContext&) {
  return std::make_unique<AsyncLocalSgd>(options);
}

}  // namespace

std::vector<AlgorithmPlugin> async_local_sgd() {
  return {{{.name = "async_local_sgd",
            .summary = "workers train alone; a server takes over how far each went as it comes",
            .citation = "Liu et al., 2024, arXiv:2401.09135"},
           "the model to rank 0 and back every H steps; nothing from rank 0's own worker",
           {.sends = {Traffic::model}},
           make_async_local_sgd}};
}

}  // namespace simsgd::algorithms
