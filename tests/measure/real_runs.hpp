// Runs of algorithms over MPI whose values are looked at: jobs, and what is kept of a run.
#pragma once

#include <vector>

#include "algorithms/plugin.hpp"
#include "measure/packing.hpp"
#include "tests/measure/world.hpp"
#include "tests/support/graphs.hpp"

namespace simsgd::test {

using Models = std::vector<std::vector<float>>;

inline void use(Job& job, const std::string& name, const Json& options) {
  job.graph = graph_of("ring", job.workers());
  for (const AlgorithmPlugin& plugin : algorithm_plugins())
    if (plugin.info.name == name)
      job.algorithm = plugin.make(options, {.workers = job.workers(),
                                            .workload = &job.workload,
                                            .seed = job.seed,
                                            .cluster = &job.cluster,
                                            .graph = &job.graph,
                                            .learner = job.learner.get()});
}

/// Softmax regression, 36 parameters, without momentum.
inline Job learning(const std::string& name, const Json& options, std::uint64_t steps, int workers = 4) {
  Job job = scripted_job(star(workers, 10e-6, 1e9), nullptr, 36);
  Layer& layer = job.workload.layers.front();
  layer.kind = Layer::Kind::fc;
  layer.tensors = {TensorShape(4, 8), 4};
  layer.activations = 4;
  job.cluster.device.peak_flops = 1e12;
  job.stop.steps = steps;
  add_learner(job, 8);
  job.optimizer.rule = sgd_rule();
  use(job, name, options);
  return job;
}

/// Steps take 0.5 ms and an exponential time of 0.5 ms on average.
inline RealRun late(Job& job) {
  job.workload.layers.front().forward_s = 0.3e-3;
  job.workload.layers.front().backward_s = 0.7e-3;
  job.workload.compute_factor = {Distribution::Kind::exponential, 0.5, 0.5, 1, {}, {}};
  return {.patience_s = 30, .emulates = true};
}

/// What comes from others after a rank's last step: looked after until all have ended theirs, however late
/// they are, and what they have sent is answered.
inline void settle(MpiWorker& worker) {
  const Handle<Nothing> never = worker.background().make_event();
  const auto look = [&] {
    worker.done(never);
    nap(50e-6);  // ranks share cores
  };
  const auto all_here = [&] {
    MPI_Request everybody = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &everybody);
    while (!is_complete(everybody)) look();
  };
  all_here();
  const double end_s = worker.now() + 0.05;
  while (worker.now() < end_s) look();
  all_here();
}

struct RealResult {
  Models models;  ///< by rank, on rank 0
  RunRecord record;
};

inline RealResult run_real(const Job& job, MPI_Comm world, const RealRun& how, Observer* observer = nullptr,
                           const std::function<void(Worker&)>& before = {}) {
  MpiWorker worker(job, world, how);
  if (observer) worker.attach(*observer);
  if (before) before(worker);
  worker.train();
  settle(worker);
  RealResult result;
  result.record = worker.finish();
  result.models = gather_at_root(world, worker.executor().get(worker.replica().parameters()).values);
  return result;
}

/// Every gradient that this rank used, in order, and how stale it was said to be.
class Used final : public Observer {
 public:
  void gradient_used(int, std::uint64_t, const Tensor& gradient, double) override {
    gradients.push_back(gradient);
  }
  void staleness(int, double steps) override { stale.push_back(steps); }
  std::vector<Tensor> gradients;
  std::vector<double> stale;
};

inline int rank_here() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace simsgd::test
