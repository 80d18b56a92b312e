// The training that bench/learning.json asks for as one would write it without a simulator: a loop over
// steps, the gradients of all workers in plain Eigen, their mean, one optimizer step.
#pragma once

#include <Eigen/Core>
#include <functional>

#include "sim/learn/dataset.hpp"
#include "sim/learn/learner.hpp"

namespace simsgd::bench {

struct BareTraining {
  int workers = 1;
  int steps = 1;
  int threads = 1;
  float learning_rate = 0.1F;
  float momentum = 0.9F;
};

struct BareGradient {
  Eigen::VectorXf values;
  double loss = 0;
};

/// What a network's loss and gradient are on samples of data of bytes.
using BareNetwork = std::function<void(const Eigen::VectorXf& parameters, const DataSet& data,
                                       const std::vector<std::int32_t>& samples, BareGradient& gradient)>;

/// An MLP with one hidden layer of ReLU and cross-entropy.
BareNetwork bare_mlp(const Learner& learner, const DataSet& data);
/// The model cnn with its defaults: a product of all patches of a batch for each convolution.
BareNetwork bare_cnn(const DataSet& data);

/// The learner gives the starting point and tells which samples a worker draws; the mean loss of each step
/// comes back.
std::vector<double> train_bare(const BareTraining& settings, const BareNetwork& network,
                               const Learner& learner, const DataSet& data);

/// The samples' images, a column each.
Eigen::MatrixXf bare_images(const DataSet& data, const std::vector<std::int32_t>& samples);
/// The mean cross-entropy; `outputs` become its gradient.
double bare_cross_entropy(const DataSet& data, const std::vector<std::int32_t>& samples,
                          Eigen::MatrixXf& outputs);

}  // namespace simsgd::bench
