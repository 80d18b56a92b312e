// The training that bench/learning.json asks for as one would write it without a simulator: a loop over
// steps, the gradients of all workers in plain Eigen, their mean, one optimizer step.
#pragma once

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

/// An MLP with one hidden layer of ReLU and cross-entropy, on `data` of bytes. The learner gives the starting
/// point and tells which samples a worker draws; the mean loss of each step comes back.
std::vector<double> train_bare(const BareTraining& settings, const Learner& learner, const DataSet& data);

}  // namespace simsgd::bench
