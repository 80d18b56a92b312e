// DP-KFAC: every layer is preconditioned by one worker, with the factors of its own mini-batch; no factor and
// no inverse travels.
//   on all workers:     g = 1/P sum_j g_j, bucket by bucket during the backward pass
//   on l's owner i:     A_l, G_l from i's mini-batch alone, their running averages, (A_l + gamma I)^-1,
//                       (G_l + gamma I)^-1
//                       V_l = (G_l + ..)^-1 g(W_l) (A_l + ..)^-1, broadcast beside the next layer's
//   on all workers:     W_l <- W_l - eta U(nu V_l);  other parameters by SGD
// Formulas and options: kfac_math.hpp. Layers go, by descending cost, to the worker of least load. Zhang,
// Shi, Wang, Li, "Scalable K-FAC Training for Deep Neural Networks with Distributed Preconditioning", IEEE
// TCC 2022, arXiv:2206.15143, and its released code (github.com/lzhangbv/kfac_pytorch). Bytes per worker and
// step: an all-reduce of the gradient, and broadcasts of that of the layers with factors. With one worker it
// is kfac. After a crash a worker computes again what it lost; the others wait.
#include <algorithm>
#include <numeric>

#include "algorithms/kfac/kfac_setup.hpp"
#include "algorithms/plugin.hpp"
#include "sim/cluster/kernels.hpp"

namespace simsgd::algorithms {

namespace {

/// Who has which of the workload's layers with factors, and in what order their owners broadcast.
struct LayerOwners {
  std::vector<int> owner;
  std::vector<std::size_t> order;
};

LayerOwners least_loaded(const std::vector<double>& cost_s, const KfacLayers& layers, int workers) {
  LayerOwners all{std::vector<int>(layers.count()), std::vector<std::size_t>(layers.count())};
  std::iota(all.order.begin(), all.order.end(), std::size_t{0});
  const auto entries = [&layers](std::size_t k) { return layers.a(k).elements() + layers.g(k).elements(); };
  std::stable_sort(all.order.begin(), all.order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(cost_s[a], entries(a)) > std::pair(cost_s[b], entries(b));
  });
  std::vector<std::pair<double, double>> load(static_cast<std::size_t>(workers));  // seconds, then entries
  for (const std::size_t k : all.order) {
    const auto least = std::min_element(load.begin(), load.end());
    all.owner[k] = static_cast<int>(least - load.begin());
    *least = {least->first + cost_s[k], least->second + entries(k)};
  }
  return all;
}

class DpKfac final : public Algorithm {
 public:
  DpKfac(KfacSetup setup, const AlgorithmContext& context)
      : setup_(std::move(setup)), precondition_s_(setup_.layers.count(), 0.0) {
    std::vector<double> cost_s;
    const std::vector<GemmSize> products = precondition_products(setup_.layers);
    for (std::size_t k = 0; k < setup_.layers.count(); ++k) {
      if (context.cluster != nullptr)
        precondition_s_[k] = gemm_s(context.cluster->device, products[2 * k]) +
                             gemm_s(context.cluster->device, products[2 * k + 1]);
      cost_s.push_back(factors_s(k) + inverses_s(k) + precondition_s_[k]);
    }
    owners_ = least_loaded(cost_s, setup_.layers, context.workers);
  }

  void run(Worker& worker) const override {
    State state{std::vector<FactorPair>(setup_.learned.layout.layers.size()), {}, {}};
    state.inverses = state.factors;
    while (worker.next_step()) {
      const Tensor gradient = mean_gradient(worker, state);
      for (std::size_t k = 0; k < setup_.layers.count(); ++k) {
        if (owners_.owner[k] != worker.rank()) continue;
        if (due(worker, setup_.factor_interval)) average(worker, k, state);
        if (due(worker, setup_.inverse_interval)) invert(worker, k, state);
      }
      worker.replica().apply(preconditioned(worker, gradient, state));
    }
  }

  std::vector<MemoryPart> memory(const MemoryContext& context) const override {
    std::vector<double> numbers(static_cast<std::size_t>(context.workers), 0.0);
    for (std::size_t k = 0; k < setup_.layers.count(); ++k)
      numbers[static_cast<std::size_t>(owners_.owner[k])] +=
          square(setup_.layers.a(k)) + square(setup_.layers.g(k));
    const double most = kBytesPerNumber * *std::max_element(numbers.begin(), numbers.end());
    return replica_memory_and(
        context, {{"factors", most}, {"inverses", most}, {"preconditioned gradient", layers_bytes()}});
  }

 private:
  /// By layer of the learner; those of others' layers stay empty.
  struct State {
    std::vector<FactorPair> factors, inverses;
    Tensor own;  // factors of this worker's mini-batch
  };

  static double square(const WorkloadFactor& factor) { return static_cast<double>(factor.dim) * factor.dim; }
  static bool due(const Worker& worker, std::uint64_t interval) {
    return (worker.step() - 1) % interval == 0;
  }
  double factors_s(std::size_t k) const {
    return setup_.costs.factor_s[2 * k] + setup_.costs.factor_s[2 * k + 1];
  }
  double inverses_s(std::size_t k) const {
    return setup_.costs.inverse_s[2 * k] + setup_.costs.inverse_s[2 * k + 1];
  }
  double numbers_of(std::size_t k) const {
    return static_cast<double>(setup_.layers.a(k).dim) * setup_.layers.g(k).dim;
  }
  double layers_bytes() const {
    double numbers = 0;
    for (std::size_t k = 0; k < setup_.layers.count(); ++k) numbers += numbers_of(k);
    return kBytesPerNumber * numbers;
  }
  const LayerFactors& learned(std::size_t l) const { return setup_.learned.layout.layers[l]; }
  void spend(Worker& worker, Activity activity, double seconds, const Tensor& result, const char* what,
             std::size_t k) const {
    const std::string label = what + setup_.layers.a(k).name.substr(1);  // after its "A"
    worker.compute().spend_on(activity, seconds * setup_.costs.slower(worker.rank()), result, label.c_str());
  }

  Tensor mean_gradient(Worker& worker, State& state) const {
    GradientOptions options;
    if (due(worker, setup_.factor_interval)) {
      options.statistics = setup_.statistics;
      options.take_statistics = [&state](const Tensor& factors) { state.own = factors; };
    }
    BucketedAllreduce mean(worker, setup_.buckets);
    mean.compute_gradient(options);
    return mean.wait();
  }
  void average(Worker& worker, std::size_t k, State& state) const {
    Executor& executor = worker.executor();
    Tensor last;
    for (const std::size_t l : setup_.learned.of[k]) {
      const LayerFactors& layer = learned(l);
      const auto part = [&](std::size_t begin, std::int64_t dim) {
        return slice(executor, state.own, begin, begin + triangle(static_cast<std::size_t>(dim)));
      };
      const FactorPair fresh{part(layer.a_offset, layer.a_dim), part(layer.g_offset, layer.g_dim)};
      state.factors[l] = average_factors(executor, layer, state.factors[l], fresh, setup_.math.old_weight);
      last = state.factors[l].g;
    }
    spend(worker, Activity::factor, factors_s(k), last, "factors", k);
  }
  void invert(Worker& worker, std::size_t k, State& state) const {
    Tensor last;
    for (const std::size_t l : setup_.learned.of[k]) {
      state.inverses[l] = {
          inverse_a(worker.executor(), learned(l), state.factors[l], setup_.math, worker.step()),
          inverse_g(worker.executor(), learned(l), state.factors[l], setup_.math, worker.step())};
      last = state.inverses[l].g;
    }
    spend(worker, Activity::inverse, inverses_s(k), last, "inverses", k);
  }
  /// Layer by layer, each broadcast by its owner while that goes on to the next one.
  Tensor preconditioned(Worker& worker, const Tensor& gradient, const State& state) const {
    std::vector<Handle<Tensor>> started;
    for (const std::size_t k : owners_.order) {
      Broadcast direction;
      direction.root = owners_.owner[k];
      direction.bytes = numbers_of(k) * worker.workload().bytes_per_parameter;
      direction.tensors = 0;
      if (worker.rank() == direction.root) {
        std::vector<Tensor> parts;
        for (const std::size_t l : setup_.learned.of[k])
          parts.push_back(preconditioned_layer(worker.executor(), learned(l), gradient, state.inverses[l]));
        if (!parts.empty() && parts.front()) direction.contribution = concatenate(worker.executor(), parts);
        spend(worker, Activity::factor, precondition_s_[k], direction.contribution, "preconditioning", k);
      }
      started.push_back(worker.collectives().start(std::move(direction)));
    }
    std::vector<Tensor> directions(state.factors.size());
    for (std::size_t i = 0; i < started.size(); ++i) {
      worker.wait(started[i]);
      std::size_t next = 0;
      for (const std::size_t l : setup_.learned.of[owners_.order[i]]) {
        directions[l] = slice(worker.executor(), started[i].result(), next, next + learned(l).layer.size());
        next += learned(l).layer.size();
      }
    }
    return clipped_direction(worker.executor(), setup_.learned.layout, gradient, directions,
                             worker.replica().learning_rate(), setup_.math.kl_clip);
  }

  KfacSetup setup_;
  std::vector<double> precondition_s_;  // of each layer
  LayerOwners owners_;
};

MadeAlgorithm make_dp_kfac(const KfacOptions& options, const AlgorithmContext& context) {
  return std::make_unique<DpKfac>(make_kfac_setup(options, context), context);
}

}  // namespace

std::vector<AlgorithmPlugin> dp_kfac() {
  return {
      {{.name = "dp_kfac",
        .summary =
            "distributed K-FAC: one worker preconditions a layer with factors of its own mini-batch, and broadcasts that",
        .citation = "Zhang, Shi, Wang, Li, IEEE TCC 2022, arXiv:2206.15143"},
       "an all-reduce of the gradient, broadcasts of the layers' preconditioned ones",
       {.sends = {Traffic::gradient}, .activities = {Activity::factor, Activity::inverse}},
       make_dp_kfac}};
}

}  // namespace simsgd::algorithms
