// What models of methods share: the workers of a job in double, all at once. A model is written from a
// paper's pseudo-code and adds its steps; losses and models are compared with the method's on the fake
// cluster.
#pragma once

#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/learn/codec.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/numbers.hpp"

namespace simsgd::test {

using Vector = Eigen::VectorXd;

inline constexpr double kRate = 0.05;
inline constexpr std::uint64_t kSteps = 50;

/// Softmax regression of 36 parameters; SGD.
inline Job learning_job(int workers, const std::string& algorithm, const Json& parameters,
                        std::uint64_t steps = kSteps, double momentum = 0) {
  Job job = scripted_job(star(workers, 1e-6, 1e9), nullptr, 36);
  add_learner(job, 16);
  job.optimizer.learning_rate.base = kRate;
  job.optimizer.rule = sgd_rule(momentum);
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

/// All workers of a job, in double; a method's model adds its steps.
class Workers {
 public:
  explicit Workers(const Job& job) : job_(job), losses_(static_cast<std::size_t>(job.workers())) {
    const std::vector<float> start = job.learner->initial_parameters();
    const Vector x = Eigen::Map<const Eigen::VectorXf>(start.data(), size_of(start)).cast<double>();
    x_.assign(static_cast<std::size_t>(job.workers()), x);
  }

  std::size_t size() const { return x_.size(); }
  const std::vector<double>& losses(std::size_t worker) const { return losses_[worker]; }
  Vector& operator[](std::size_t worker) { return x_[worker]; }

  Vector gradient(std::size_t worker, std::uint64_t step) {
    const Eigen::VectorXf at = x_[worker].cast<float>();
    std::vector<float> gradient(static_cast<std::size_t>(at.size()));
    losses_[worker].push_back(job_.learner->gradient(
        {at.data(), gradient.size()}, job_.learner->samples(static_cast<int>(worker), step), gradient));
    return Eigen::Map<const Eigen::VectorXf>(gradient.data(), at.size()).cast<double>();
  }
  /// Over all workers.
  Vector mean_gradient(std::uint64_t step) {
    Vector mean = Vector::Zero(x_[0].size());
    for (std::size_t i = 0; i < x_.size(); ++i) mean += gradient(i, step) / static_cast<double>(x_.size());
    return mean;
  }
  /// Of all steps of the job: everybody goes against the mean gradient.
  void step_by_means() {
    for (std::uint64_t step = 1; step <= job_.stop.steps; ++step) {
      const Vector way = job_.optimizer.learning_rate.at(step) * mean_gradient(step);
      for (Vector& x : x_) x -= way;
    }
  }
  /// What others get of the worker's next message.
  Vector sent(const MadeCodec& codec, std::size_t worker, const Vector& values) {
    const Eigen::VectorXf from = values.cast<float>();
    Eigen::VectorXf to(from.size());
    const auto n = static_cast<std::size_t>(from.size());
    codec->transmit(
        {from.data(), n},
        Stream({job_.seed, Purpose::coding, static_cast<std::uint32_t>(worker), messages_[worker]++}),
        {to.data(), n});
    return to.cast<double>();
  }

  /// To 1e-6 (`within`) the losses of all steps, and to ten times that the models, are those of the method on
  /// the fake cluster.
  void check_against(const FakeResult& result, double within = 1e-6) const {
    for (std::size_t worker = 0; worker < x_.size(); ++worker) {
      CAPTURE(worker);
      CHECK(worst_difference(result.losses[worker], losses_[worker]) < within);
      CHECK(worst_difference(result.models[worker], x_[worker]) < 10 * within);
    }
  }

 private:
  static Eigen::Index size_of(const std::vector<float>& values) {
    return static_cast<Eigen::Index>(values.size());
  }

  const Job& job_;
  std::vector<Vector> x_;
  std::vector<std::vector<double>> losses_;
  std::map<std::size_t, std::uint64_t> messages_;  // so far, by worker
};

}  // namespace simsgd::test
