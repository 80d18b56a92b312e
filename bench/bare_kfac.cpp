// SPD-KFAC with the options of scenarios/papers/spd_kfac_spd_kfac.json: factors are computed during the
// passes and averaged in groups, between buckets of the gradient; then large ones are inverted by a worker
// each, which broadcasts them, and the others by all.
#include <algorithm>
#include <numeric>

#include "bench/bare_broadcasts.hpp"
#include "bench/bare_factors.hpp"
#include "bench/bare_programs.hpp"
#include "bench/bare_steps.hpp"

namespace simsgd::bench {

namespace {

struct KfacInverse {
  int dim = 0;
  double work_s = 0, bytes = 0;
  std::uint32_t owner = 0;
};

/// The largest first, each to the worker with least to do so far; what all invert takes `everybody_s`.
std::vector<KfacInverse> placed(const Job& job, const KfacLayers& layers, const KfacCosts& costs,
                                double& everybody_s) {
  constexpr int kLeastDim = 1400;
  std::vector<KfacInverse> sent;
  for (std::size_t f = 0; f < layers.factors.size(); ++f) {
    const WorkloadFactor& factor = layers.factors[f];
    if (factor.dim < kLeastDim)
      everybody_s += costs.inverse_s[f];
    else
      sent.push_back(
          {factor.dim, costs.inverse_s[f], factor.elements() * job.workload.bytes_per_parameter, 0});
  }
  std::stable_sort(sent.begin(), sent.end(),
                   [](const KfacInverse& one, const KfacInverse& other) { return one.dim > other.dim; });
  std::vector<double> load_s(static_cast<std::size_t>(job.workers()), 0.0);
  for (KfacInverse& inverse : sent) {
    const auto least = std::min_element(load_s.begin(), load_s.end());
    inverse.owner = static_cast<std::uint32_t>(least - load_s.begin());
    *least += inverse.work_s;
  }
  return sent;
}

struct KfacWorker {
  double now_s = 0, busy_until_s = 0;

  void compute(const Job& job, double work_s) { now_s = bare_computed_s(job, now_s, work_s, busy_until_s); }
  /// Its device is taken to communicate for so long, once it has ended what it does.
  void start(double operation_s) { busy_until_s = std::max(busy_until_s, now_s) + operation_s; }
};

}  // namespace

double bare_spd_kfac_s(const Job& job) {
  const KfacLayers layers = kfac_layers(job.workload);
  const KfacCosts costs = kfac_costs(&job.cluster, job.workload, layers);
  const std::vector<BarePiece> pieces = bare_passes(job.workload, layers, costs);
  double everybody_s = 0;
  const std::vector<KfacInverse> inverses = placed(job, layers, costs, everybody_s);
  BareBroadcasts network(job);
  std::vector<KfacWorker> workers(static_cast<std::size_t>(job.workers()));
  std::vector<double> sums_s, posted_s, broadcasts_s;  // what they take; when the last worker starts a sum
  for (const BarePiece& piece : pieces)
    sums_s.push_back(piece.bytes > 0 ? network.all_reduce_s(piece.bytes, piece.tensors) : 0);
  for (const KfacInverse& inverse : inverses) broadcasts_s.push_back(network.predicted_s(inverse.bytes));
  std::vector<std::vector<double>> came_s(inverses.size(), std::vector<double>(workers.size()));
  double free_s = 0;  // when the last operation has ended
  for (std::uint64_t step = 0; step < job.stop.steps; ++step) {
    posted_s.assign(pieces.size(), 0.0);
    for (KfacWorker& worker : workers)
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        worker.compute(job, pieces[i].work_s);
        if (sums_s[i] == 0) continue;
        posted_s[i] = std::max(posted_s[i], worker.now_s);
        worker.start(sums_s[i]);
      }
    for (std::size_t i = 0; i < pieces.size(); ++i)
      if (sums_s[i] > 0) free_s = std::max(free_s, posted_s[i]) + sums_s[i];
    for (std::uint32_t w = 0; w < workers.size(); ++w) {
      KfacWorker& worker = workers[w];
      worker.now_s = std::max(worker.now_s, free_s);
      for (std::size_t i = 0; i < inverses.size(); ++i) {
        if (inverses[i].owner == w) worker.compute(job, inverses[i].work_s);
        came_s[i][w] = worker.now_s;
        worker.start(broadcasts_s[i]);
      }
      worker.compute(job, everybody_s);
    }
    for (std::size_t i = 0; i < inverses.size(); ++i) {
      for (double& each : came_s[i]) each = std::max(each, free_s);
      free_s = network.end_s(inverses[i].owner, inverses[i].bytes, came_s[i]);
    }
    for (KfacWorker& worker : workers) {
      worker.now_s = std::max(worker.now_s, free_s);
      worker.compute(job, costs.precondition_s);
    }
  }
  return std::max_element(
             workers.begin(), workers.end(),
             [](const KfacWorker& one, const KfacWorker& other) { return one.now_s < other.now_s; })
      ->now_s;
}

}  // namespace simsgd::bench
