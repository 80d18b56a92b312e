// What the tests of gossip algorithms share: a job on a logical graph, models that only average, their mean.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "tests/algorithms/wait_avoiding_support.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test {

/// An algorithm with its parameters and, if it has one, its graph.
struct Method {
  std::string name;
  Json parameters = Json::object();
  std::string graph = "ring";
};

inline void use_method(Job& job, const Method& method) {
  job.graph = graph_of(method.graph, job.workers());
  use_algorithm(job, method.name, method.parameters);
}

/// Steps of 1 s in which softmax regression learns, without momentum.
inline Job gossip_job(int workers, const Method& method, std::uint64_t steps) {
  Job job = paced_job(std::vector<double>(static_cast<std::size_t>(workers), 1.0), steps);
  add_learner(job, 8);
  job.optimizer.rule = sgd_rule();
  use_method(job, method);
  return job;
}

/// Steps take 0.5 s and an exponential time of 0.5 s on average.
inline void be_late(Job& job) {
  job.workload.compute_factor = {Distribution::Kind::exponential, 0.5, 0.5, 1, {}, {}};
}

/// From step 2 on the learning rate is 0: only averaging is left.
inline void stop_learning(Job& job) {
  job.optimizer.learning_rate.kind = LearningRate::Kind::step;
  job.optimizer.learning_rate.milestones = {2};
  job.optimizer.learning_rate.gamma = 0;
}

/// Worker `rank`'s model to begin with, so that models differ without any learning.
inline std::vector<float> drawn_model(int rank, std::size_t size) {
  std::vector<float> model;
  Stream draws({7, Purpose::resampling, static_cast<std::uint32_t>(rank), 0});
  for (std::size_t i = 0; i < size; ++i) model.push_back(static_cast<float>(draws.normal()));
  return model;
}

/// The job's algorithm begins with drawn models.
inline void start_from_drawn_models(Job& job) {
  const std::shared_ptr<const Algorithm> inner = std::move(job.algorithm);  // shared by the script's copies
  job.algorithm = std::make_unique<ScriptedAlgorithm>([inner](Worker& worker) {
    worker.replica().set(
        worker.executor().constant({drawn_model(worker.rank(), worker.replica().size()), {}, {}}));
    inner->run(worker);
  });
}

/// As final_models, once nobody averages any more: a passive worker of ad_psgd goes on after its last step.
inline std::vector<double> settled_models(const std::function<Job()>& make) {
  return final_models([&] {
    Job job = make();
    const std::shared_ptr<const Algorithm> inner = std::move(job.algorithm);  // shared by the script's copies
    job.algorithm = std::make_unique<ScriptedAlgorithm>([inner](Worker& worker) {
      inner->run(worker);
      worker.collectives().run(Barrier());
    });
    return job;
  });
}

/// The entries of the models of all workers, as final_models gives them, worker by worker.
inline std::vector<double> mean_of(const std::vector<double>& models, int workers) {
  std::vector<double> mean(models.size() / static_cast<std::size_t>(workers), 0.0);
  for (std::size_t i = 0; i < models.size(); ++i) mean[i % mean.size()] += models[i] / workers;
  return mean;
}

/// The greatest distance of an entry of any model from the mean of the models.
inline double spread_of(const std::vector<double>& models, int workers) {
  const std::vector<double> mean = mean_of(models, workers);
  double worst = 0;
  for (std::size_t i = 0; i < models.size(); ++i)
    worst = std::max(worst, std::fabs(models[i] - mean[i % mean.size()]));
  return worst;
}

}  // namespace simsgd::test
