// What the tests of K-FAC share: a small job with factors in its workload and in its learner.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "algorithms/kfac/kfac_math.hpp"
#include "sim/learn/model.hpp"
#include "tests/learn/support.hpp"
#include "tests/support/fake_world.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test {

/// A workload of four layers, three of them with factors, on devices of 1 TFLOP/s.
inline Job kfac_workload(int workers) {
  Job job = scripted_job(star(workers, 1e-6, 1e9), nullptr);
  job.cluster.device.peak_flops = 1e12;
  const auto layer = [](const std::string& name, Layer::Kind kind, TensorShape tensor) {
    Layer made;
    made.name = name;
    made.kind = kind;
    made.tensors = {tensor};
    made.forward_s = 1e-3;
    made.backward_s = 2e-3;
    made.positions = 4;
    return made;
  };
  job.workload.name = "four layers";
  job.workload.layers = {layer("conv1", Layer::Kind::conv, {64, 27}), layer("norm", Layer::Kind::bn, 128),
                         layer("conv2", Layer::Kind::conv, {96, 576}),
                         layer("fc", Layer::Kind::fc, {10, 97})};
  job.workload.batch = 16;
  return job;
}

/// Gives it a perceptron (8 inputs, hidden layers of 6 and 5, 4 classes: 127 parameters) and SGD with
/// momentum.
inline void add_perceptron(Job& job, int batch, double learning_rate = 0.05) {
  LearnerSpec spec;
  const DataSets sets = testing::load(
      "gaussian_mixture", {{"features", 8}, {"classes", 4}, {"samples", 2048}, {"test_samples", 64}}, 3);
  spec.train = sets.train;
  spec.model =
      testing::model_plugin("mlp").make(Json{{"hidden", {6, 5}}, {"activation", "tanh"}}, *spec.train);
  spec.workers = job.workers();
  spec.batch = batch;
  spec.seed = job.seed;
  job.learner = std::make_unique<Learner>(std::move(spec));
  job.optimizer.learning_rate.base = learning_rate;
  job.optimizer.rule = sgd_rule(0.9);
}

/// Both, 64 samples in a step over all workers, and the algorithm.
inline Job kfac_job(int workers, const std::string& algorithm, const Json& parameters, std::uint64_t steps) {
  Job job = kfac_workload(workers);
  add_perceptron(job, 64 / workers);
  use_algorithm(job, algorithm, parameters);
  job.stop.steps = steps;
  return job;
}

/// A layer of the learner by hand: weights of rows x columns and, if `bias`, a column of biases.
inline LayerFactors linear_layer(std::int64_t rows, std::int64_t columns, bool bias) {
  LayerFactors layer;
  layer.layer.name = "linear1";
  layer.layer.kind = LayerInfo::Kind::linear;
  layer.layer.rows = rows;
  layer.layer.columns = columns;
  layer.layer.bias = bias;
  layer.a_dim = columns + (bias ? 1 : 0);
  layer.g_dim = rows;
  layer.g_offset = triangle(static_cast<std::size_t>(layer.a_dim));
  return layer;
}

inline Matrix<double> kronecker(const Matrix<double>& a, const Matrix<double>& g) {
  Matrix<double> product(a.rows() * g.rows(), a.cols() * g.cols());
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < a.cols(); ++j)
      product.block(i * g.rows(), j * g.cols(), g.rows(), g.cols()) = a(i, j) * g;
  return product;
}

}  // namespace simsgd::test
