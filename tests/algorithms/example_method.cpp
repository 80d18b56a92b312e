// Signum with majority vote: a worker sends one bit per parameter, and the majority says where to go.
//   v_i <- b v_i + (1 - b) g_i(x);   x <- x - eta U(sign(sum_i sign(v_i))),   sign(0) = 1
// Bernstein, Zhao, Azizzadenesheli, Anandkumar, ICLR 2019, arXiv:1810.05291, Algorithm 1, where one server
// counts all votes; here rank i counts the i-th part of them. Bytes per worker and step: an all-to-all and an
// all-gather of one bit per parameter, 2 (P-1)/P N/8 of N parameters. After a crash a worker computes again
// what it lost; the others wait. The example of docs/algorithms.md, which shows this file whole.
#include <cmath>

#include "algorithms/plugin.hpp"

namespace simsgd::algorithms {

namespace {

struct SignumOptions {
  double momentum = 0.9;

  void fields(Fields& f) {
    f.number("momentum", momentum, "b: share of the running mean that each gradient leaves")
        .at_least(0)
        .below(1);
  }
};

// Tensors: pure functions of tensors, computed on other threads or, without a learner, not at all.
Tensor signs_of(Executor& executor, const Tensor& vector) {
  if (!vector) return {};
  return executor.submit({vector}, [](TensorData& out, std::span<const TensorData* const> in) {
    for (const float value : in[0]->values) out.values.push_back(std::signbit(value) ? -1.0F : 1.0F);
  });
}

/// `votes`: those of each worker, one after another.
Tensor majority_of(Executor& executor, const Tensor& votes, std::size_t workers) {
  if (!votes) return {};
  return executor.submit({votes}, [workers](TensorData& out, std::span<const TensorData* const> in) {
    const std::vector<float>& all = in[0]->values;
    const std::size_t size = all.size() / workers;
    for (std::size_t k = 0; k < size; ++k) {
      float sum = 0;
      for (std::size_t i = 0; i < workers; ++i) sum += all[i * size + k];
      out.values.push_back(sum < 0 ? -1.0F : 1.0F);
    }
  });
}

/// The share of entries at which two vectors of signs agree.
double agreement(Executor& executor, const Tensor& a, const Tensor& b) {
  const Tensor sum = linear_combination(executor, {0.5, 0.5}, {a, b});
  double agreed = 0;
  for (const float value : executor.get(sum).values) agreed += value != 0;
  return agreed / static_cast<double>(executor.get(sum).values.size());
}

/// Seconds at nominal speed, by kernels of the device (sim/cluster/kernels.hpp).
struct SignumCosts {
  std::vector<double> pack_s;  // of each layer: v_i, and one bit per number of it
  double count_s = 0;          // of a worker's part of the votes
  double unpack_s = 0;
};

SignumCosts signum_costs(const AlgorithmContext& context) {
  SignumCosts costs;
  costs.pack_s.resize(context.workload->layers.size());
  if (context.cluster == nullptr) return costs;
  const Device& device = context.cluster->device;
  for (std::size_t i = 0; i < costs.pack_s.size(); ++i) {
    const double n = context.workload->layers[i].parameters();
    costs.pack_s[i] = vector_pass_s(device, {.read = 8 * n, .written = 4 * n}) +
                      quantise_s(device, {.numbers = n, .bits = 1});
  }
  const double n = context.workload->parameters();
  costs.count_s = vector_pass_s(device, {.read = n / 8, .written = n / 8 / context.workers});
  costs.unpack_s = vector_pass_s(device, {.read = n / 8, .written = 4 * n});
  return costs;
}

class Signum final : public Algorithm {
 public:
  Signum(const SignumOptions& options, SignumCosts costs)
      : momentum_(options.momentum), costs_(std::move(costs)) {}

  void run(Worker& worker) const override {
    Executor& executor = worker.executor();
    Tensor mean, own, vote;
    while (worker.next_step()) {
      GradientOptions options;
      options.after_backward = [&](const LayerPass& pass) {
        if (pass.last) spend(worker, costs_.pack_s[static_cast<std::size_t>(pass.layer)], "pack");
      };
      const Tensor gradient = worker.compute().gradient(options);
      mean = mean ? linear_combination(executor, {momentum_, 1 - momentum_}, {mean, gradient})
                  : linear_combination(executor, {1 - momentum_}, {gradient});
      own = signs_of(executor, mean);
      vote = vote_on(worker, own);
      worker.replica().apply(vote);
    }
    if (vote) worker.record().number("agreement_with_majority", agreement(executor, own, vote));
  }

  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    const double bits = context.workload.parameters() / 8;
    return replica_memory_and(context,
                              {{"running mean", context.vector_bytes()}, {"signs and votes", 3 * bits}});
  }

 private:
  Tensor vote_on(Worker& worker, const Tensor& own) const {
    AllToAll ballots;
    ballots.bytes = worker.workload().parameters() / 8;
    ballots.contribution = own;
    const Tensor votes = worker.collectives().run(ballots);
    spend(worker, costs_.count_s, "count");
    AllGather parts;
    parts.bytes = worker.workload().parameters() / 8;
    parts.contribution = majority_of(worker.executor(), votes, static_cast<std::size_t>(worker.size()));
    const std::vector<Tensor> majority = worker.collectives().run(parts);
    spend(worker, costs_.unpack_s, "unpack");
    return own ? concatenate(worker.executor(), majority) : Tensor{};
  }

  static void spend(Worker& worker, double seconds, const char* label) {
    worker.compute().spend(Activity::compute, seconds * worker.compute().slower(), label);
  }

  double momentum_;
  SignumCosts costs_;
};

}  // namespace

std::vector<AlgorithmPlugin> signum() {
  return {{{.name = "signum",
            .summary = "workers send the signs of their gradients, and the majority says where to go",
            .citation = "Bernstein et al., ICLR 2019, arXiv:1810.05291"},
           "an all-to-all and an all-gather of one bit per parameter: 2 (P-1)/P N/8 bytes",
           {.sends = {Traffic::gradient}},
           +[](const SignumOptions& options, const AlgorithmContext& context) -> MadeAlgorithm {
             note_kernel(context, DeviceKernel::vector_pass);
             note_kernel(context, DeviceKernel::quantise);
             return std::make_unique<Signum>(options, signum_costs(context));
           }}};
}

}  // namespace simsgd::algorithms
