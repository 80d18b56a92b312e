// Second-order training reaches a loss in fewer steps than SGD: with momentum 0.9 and the same mini-batches,
// SGD at the best of learning rates on both sides of its best, K-FAC at the better of two.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/algorithms/kfac_support.hpp"
#include "tests/support/fashion_mnist.hpp"

namespace simsgd::test::algorithms_kfac_learning {

namespace {

constexpr int kWorkers = 4;

struct Task {
  std::shared_ptr<const DataSet> train;  // shared by the runs
  std::string model;
  Json shape;
  int batch = 0;  // of each worker
  double loss = 0;
  std::uint64_t steps = 0;  // at most
};

// Steps until the mean loss of the last ten steps is at most the task's; none: never.
std::optional<int> steps_to_loss(const Task& task, const std::string& algorithm, const Json& parameters,
                                 double learning_rate) {
  Job job = kfac_workload(kWorkers);
  LearnerSpec spec;
  spec.train = task.train;
  spec.model = testing::model_plugin(task.model).make(task.shape, *task.train);
  spec.workers = kWorkers;
  spec.batch = task.batch;
  job.learner = std::make_unique<Learner>(std::move(spec));
  job.optimizer.learning_rate.base = learning_rate;
  job.optimizer.rule = sgd_rule(0.9);
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = task.steps;
  const FakeResult result = run_fake(job);
  double sum = 0;
  for (std::size_t step = 0; step < task.steps; ++step) {
    for (const std::vector<double>& losses : result.losses) {
      sum += losses[step] / kWorkers;
      if (step >= 10) sum -= losses[step - 10] / kWorkers;
    }
    if (step >= 9 && sum / 10 <= task.loss) return static_cast<int>(step) + 1;
  }
  return std::nullopt;
}

int best_of(const Task& task, const std::string& algorithm, const Json& parameters,
            const std::vector<double>& learning_rates) {
  int best = static_cast<int>(task.steps) + 1;
  for (const double learning_rate : learning_rates) {
    const std::optional<int> steps = steps_to_loss(task, algorithm, parameters, learning_rate);
    best = std::min(best, steps.value_or(best));
  }
  return best;
}

}  // namespace

TEST_CASE("ill-conditioned inputs: K-FAC in all its systems needs fewer steps than SGD") {
  // Features of a mixture of four classes whose scales span two orders of magnitude: curvatures span four.
  DataSet data = *testing::load("gaussian_mixture",
                                {{"features", 8}, {"classes", 4}, {"samples", 4096}, {"test_samples", 0}}, 3)
                      .train;
  for (std::size_t i = 0; i < data.floats.size(); ++i)
    data.floats[i] *= static_cast<float>(std::pow(10.0, -2.0 * static_cast<double>(i % 8) / 7));
  const Task task{
      std::make_shared<const DataSet>(std::move(data)), "mlp", {{"hidden", Json::array()}}, 32, 0.3, 600};
  const std::vector<double> rates = {0.1, 0.3, 1, 3, 10};
  const int sgd = best_of(task, "allreduce_sgd", Json::object(), rates);
  for (const char* system : {"d_kfac", "mpd_kfac", "spd_kfac"}) {
    CAPTURE(system);
    const int kfac = best_of(task, system, {{"damping", 1e-4}}, {0.03, 0.1});
    MESSAGE(std::string(system) << " " << kfac << " steps, SGD " << sgd);
    CHECK(10 * kfac < sgd);
  }
}

TEST_CASE("Fashion-MNIST: K-FAC in all its systems needs fewer steps than SGD") {
  if (fashion_mnist_is_missing()) return;
  const Task task{testing::load("fashion_mnist", {{"train_samples", 10000}, {"test_samples", 100}}).train,
                  "cnn",
                  {{"channels", {8, 8}}, {"kernel", 3}, {"stride", 2}, {"pool", 2}},
                  32,
                  0.7,
                  200};
  const int sgd = best_of(task, "allreduce_sgd", Json::object(), {0.03, 0.1, 0.3});
  for (const char* system : {"d_kfac", "mpd_kfac", "spd_kfac"}) {
    CAPTURE(system);
    const int kfac = best_of(task, system, Json::object(), {0.003, 0.01});
    MESSAGE(std::string(system) << " " << kfac << " steps, SGD " << sgd);
    CHECK(2 * kfac < sgd);
  }
}

}  // namespace simsgd::test::algorithms_kfac_learning
