// NoLoCo: DiLoCo's outer step among pairs drawn at random, without a collective. Workers train alone for H
// steps by any optimizer; then those of a pair {i, j} of n = 2 tell each other how far they went and where
// they were:
//   D_i = x_i - phi_i
//   delta_i <- alpha delta_i + beta mean_pair D - gamma (phi_i - mean_pair phi);  phi_i <- phi_i + delta_i
//   x_i <- phi_i
// Pairs are those of a permutation that all workers draw alike; of an odd number the last one steps alone,
// with n = 1. Kolehmainen, Blagoev, Donaghy, Ersoy, Nies, "NoLoCo", 2025, arXiv:2506.10911; told from memory,
// its text was not at hand: check the signs of alpha and gamma against section 3 before relying on them.
// alpha 0.5, beta 0.7; gamma between alpha sqrt(n / (2 (n - 1))) = 0.5 and sqrt(n (2 + alpha^2) / (2 (n -
// 1))) = 1.5 of its convergence condition: assumed 1, which sets the slow models of a pair to their mean.
// Bytes per worker and H steps: two vectors of the model to one other worker. After a crash a worker computes
// again what it lost; its partner waits.
#include <fmt/format.h>

#include "algorithms/plugin.hpp"
#include "sim/learn/sampler.hpp"

namespace simsgd::algorithms {

namespace {

struct NolocoOptions {
  int inner_steps = 50;
  double momentum = 0.5, outer_rate = 0.7, pull = 1;

  void fields(Fields& f) {
    f.whole("inner_steps", inner_steps, "H: steps between two exchanges").at_least(1);
    f.number(
         "outer_momentum", momentum,
         "alpha: momentum of the slow model, which outer steps change: the share of its last step that it repeats")
        .at_least(0)
        .below(1);
    f.number("outer_rate", outer_rate, "beta: this share of the pair's mean progress is applied").above(0);
    f.number("pull", pull, "gamma: how strongly a slow model is pulled towards the pair's mean; above alpha")
        .above(0);
  }
};

/// Whom `rank` meets in a round; itself where it is left over.
int partner_of(int rank, int workers, std::uint64_t seed, std::uint64_t round) {
  const std::vector<std::int32_t> order =
      permutation(static_cast<std::size_t>(workers), Stream({seed, Purpose::gossip, 0, round}));
  std::size_t place = 0;
  while (order[place] != rank) ++place;
  const std::size_t other = place ^ 1U;
  return other < order.size() ? order[other] : rank;
}

class Noloco final : public Algorithm {
 public:
  Noloco(const NolocoOptions& options, const AlgorithmContext& context) : options_(options) {
    note_kernel(context, DeviceKernel::vector_pass);
    // Of each number: x, phi, delta and what came of D and phi are read, phi and delta written.
    if (context.cluster != nullptr)
      outer_s_ = vector_pass_s(context.cluster->device, {.read = 20 * context.workload->parameters(),
                                                         .written = 8 * context.workload->parameters()});
    message_bytes_ = 2 * context.workload->model_bytes();
  }

  void run(Worker& worker) const override {
    Slow slow{worker.replica().parameters(), {}};
    std::uint64_t round = 0;
    while (worker.next_step()) {
      worker.replica().apply(worker.compute().gradient());
      if (worker.step() % static_cast<std::uint64_t>(options_.inner_steps) != 0) continue;
      meet(worker, ++round, slow);
      if (slow.model) worker.replica().set(slow.model);
    }
  }
  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    return replica_memory_and(context, {{"slow model and its last step", 2 * context.vector_bytes()},
                                        {"a partner's progress and slow model", message_bytes_}});
  }

 private:
  struct Slow {
    Tensor model, step;  // phi and delta; empty before the first step
  };

  void meet(Worker& worker, std::uint64_t round, Slow& slow) const {
    Executor& executor = worker.executor();
    const int partner = partner_of(worker.rank(), worker.size(), worker.seed(), round);
    const Tensor own =
        slow.model ? concatenate(executor, {slow.model,
                                            linear_combination(executor, {1.0, -1.0},
                                                               {worker.replica().parameters(), slow.model})})
                   : Tensor();
    const Tensor mean = partner == worker.rank() ? own : exchange(worker, partner, own);
    worker.compute().spend(Activity::compute, outer_s_ * worker.compute().slower());
    if (!mean) return;
    const std::size_t size = worker.replica().size();
    const Tensor centre = slice(executor, mean, 0, size), progress = slice(executor, mean, size, 2 * size);
    std::vector<double> weights = {options_.outer_rate, -options_.pull, options_.pull};
    std::vector<Tensor> terms = {progress, slow.model, centre};
    if (slow.step) {
      weights.push_back(options_.momentum);
      terms.push_back(slow.step);
    }
    slow.step = linear_combination(executor, weights, terms);
    slow.model = linear_combination(executor, {1.0, 1.0}, {slow.model, slow.step});
  }

  /// The mean of both. Added in order of rank, so that both get the same.
  Tensor exchange(Worker& worker, int partner, const Tensor& own) const {
    Message message;
    message.bytes = message_bytes_;
    message.traffic = Traffic::model;
    message.values = own;
    const Handle<Nothing> sent = worker.messages().start_send(partner, 0, std::move(message));
    const Tensor other = worker.messages().receive(partner, 0).values;
    worker.wait(sent);
    if (!own) return {};
    const bool first = worker.rank() < partner;
    return linear_combination(worker.executor(), {0.5, 0.5}, {first ? own : other, first ? other : own});
  }

  NolocoOptions options_;
  double outer_s_ = 0;
  double message_bytes_ = 0;
};

MadeAlgorithm make_noloco(const NolocoOptions& options, const AlgorithmContext& context) {
  if (!(options.pull > options.momentum))
    reject("pull", fmt::format("is not above outer_momentum, which is {:g}", options.momentum),
           "Use a larger pull: with less, slow models do not come together");
  return std::make_unique<Noloco>(options, context);
}

}  // namespace

std::vector<AlgorithmPlugin> noloco() {
  return {{{.name = "noloco",
            .summary = "DiLoCo's outer step among random pairs, without a collective",
            .citation = "Kolehmainen et al., 2025, arXiv:2506.10911"},
           "two vectors of the model to one other worker every H steps",
           {.sends = {Traffic::model}, .interval = "inner_steps"},
           make_noloco}};
}

}  // namespace simsgd::algorithms
