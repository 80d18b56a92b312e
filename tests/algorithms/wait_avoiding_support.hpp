// What the tests of wagma and eager_sgd share: a learner whose numbers can be followed by hand, and the
// models at the end of a run.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/learn/data/registry.hpp"
#include "sim/learn/models/registry.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test {

/// f(x) = 1/2 (x - 1)^2 for one number x that starts at 0, without noise: the gradient is x - 1.
inline void add_parabola(Job& job, double learning_rate) {
  give_learner(job, {.data = "quadratic",
                     .model = "quadratic",
                     .data_parameters = {{"dimension", 1}, {"samples", 64}, {"noise", 0.0}},
                     .learning_rate = learning_rate});
}

/// Every worker computes for `step_s` of its own per step, on a fast network.
inline Job paced_job(const std::vector<double>& step_s, std::uint64_t steps) {
  Job job = scripted_job(star(static_cast<int>(step_s.size()), 1e-6, 1e9), nullptr, 1);
  job.workload.layers.front().forward_s = 0.25;
  job.workload.layers.front().backward_s = 0.75;
  for (const double seconds : step_s) job.cluster.node_speed.push_back(1 / seconds);
  job.stop.steps = steps;
  return job;
}

/// Runs the job's algorithm; the models of all workers at the end, one after another.
inline std::vector<double> final_models(Job job) {
  std::vector<std::vector<float>> models(static_cast<std::size_t>(job.workers()));
  const std::shared_ptr<const Algorithm> inner = std::move(job.algorithm);  // shared by the script's copies
  job.algorithm = std::make_unique<ScriptedAlgorithm>([&models, inner](Worker& worker) {
    inner->run(worker);
    models[static_cast<std::size_t>(worker.rank())] =
        worker.executor().get(worker.replica().parameters()).values;
  });
  simulate_job(job);
  std::vector<double> all;
  for (const std::vector<float>& model : models) all.insert(all.end(), model.begin(), model.end());
  return all;
}
inline std::vector<double> final_models(const std::function<Job()>& make) { return final_models(make()); }

struct DrawnJob {
  std::uint64_t seed = 1;
  int workers = 1;
  std::uint64_t steps = 1;
  std::uint32_t rarity = 4;  ///< one in so many has every message simulated, one in so many crashes
};

/// Computing and messages of comparable length, now and then exactly equal ones, and crashes.
inline Job drawn_job(const DrawnJob& asked, Stream& draws, std::function<void(Worker&)> body) {
  const double alpha_s = draws.below(4) == 0 ? 0 : 0.2 * draws.uniform();
  Job made = scripted_job(star(asked.workers, alpha_s, 1e9), std::move(body), 1e8 * draws.uniform());
  made.workload.layers.front().forward_s = 0.1;
  made.workload.layers.front().backward_s = 0.4;
  made.seed = asked.seed;
  made.stop.steps = asked.steps;
  constexpr Distribution::Kind kPaces[] = {Distribution::Kind::constant, Distribution::Kind::exponential,
                                           Distribution::Kind::lognormal, Distribution::Kind::pareto};
  const Distribution::Kind pace = kPaces[draws.below(4)];
  made.workload.compute_factor = {pace, 0.3, 0.7, pace == Distribution::Kind::pareto ? 1.5 : 1.0, {}, {}};
  if (draws.below(3) == 0) made.cluster.host.overlap_s = 0.4 * draws.uniform();
  if (draws.below(asked.rarity) == 0) made.network.fidelity = Fidelity::messages;
  if (draws.below(5) == 0) made.network.jitter = {Distribution::Kind::exponential, 0, 0.05, 1, {}, {}};
  if (draws.below(asked.rarity) == 0) {
    made.failures.mean_time_between_s = 20;
    made.failures.restart_s = draws.uniform();
    made.failures.checkpoint_every = 1 + draws.below(4);
  }
  return made;
}

}  // namespace simsgd::test
