#include "bench/bare_training.hpp"
#include "sim/learn/model.hpp"

#include <Eigen/Core>
#include <barrier>
#include <cmath>
#include <thread>

namespace simsgd::bench {

namespace {

using namespace Eigen;

struct Shape {
  Index inputs, hidden, classes;
  Index second() const { return hidden * inputs + hidden; }  // where the second layer begins
};

// Weights of a layer are outputs x inputs, column by column, and then the biases.
void compute(const Shape& shape, const VectorXf& parameters, const DataSet& data,
             const std::vector<std::int32_t>& samples, BareGradient& gradient) {
  const MatrixXf inputs = bare_images(data, samples);
  const Map<const MatrixXf> weights1(parameters.data(), shape.hidden, shape.inputs);
  const Map<const VectorXf> biases1(parameters.data() + shape.hidden * shape.inputs, shape.hidden);
  const Map<const MatrixXf> weights2(parameters.data() + shape.second(), shape.classes, shape.hidden);
  const Map<const VectorXf> biases2(parameters.data() + shape.second() + shape.classes * shape.hidden,
                                    shape.classes);

  MatrixXf hidden = weights1 * inputs;
  hidden = (hidden.colwise() + biases1).cwiseMax(0.0F);
  MatrixXf outputs = weights2 * hidden;
  outputs.colwise() += biases2;
  gradient.loss = bare_cross_entropy(data, samples, outputs);
  MatrixXf back = weights2.transpose() * outputs;
  back = (hidden.array() > 0).select(back, 0.0F);

  gradient.values.resize(parameters.size());
  float* to = gradient.values.data();
  Map<MatrixXf>(to, shape.hidden, shape.inputs).noalias() = back * inputs.transpose();
  Map<VectorXf>(to + shape.hidden * shape.inputs, shape.hidden) = back.rowwise().sum();
  Map<MatrixXf>(to + shape.second(), shape.classes, shape.hidden).noalias() = outputs * hidden.transpose();
  Map<VectorXf>(to + shape.second() + shape.classes * shape.hidden, shape.classes) = outputs.rowwise().sum();
}

}  // namespace

MatrixXf bare_images(const DataSet& data, const std::vector<std::int32_t>& samples) {
  MatrixXf inputs(data.features, static_cast<Index>(samples.size()));
  for (Index s = 0; s < inputs.cols(); ++s)
    inputs.col(s) =
        Map<const Eigen::Matrix<std::uint8_t, Dynamic, 1>>(
            data.bytes.data() + samples[static_cast<std::size_t>(s)] * data.features, data.features)
                .cast<float>()
                .array() *
            data.scale +
        data.shift;
  return inputs;
}

double bare_cross_entropy(const DataSet& data, const std::vector<std::int32_t>& samples, MatrixXf& outputs) {
  const Index batch = outputs.cols();
  double loss = 0;
  for (Index s = 0; s < batch; ++s) {
    const std::int32_t label = data.labels[static_cast<std::size_t>(samples[static_cast<std::size_t>(s)])];
    auto column = outputs.col(s).array();
    column -= column.maxCoeff();
    loss -= column(label);
    column = column.exp();
    const float sum = column.sum();
    loss += std::log(sum);
    column /= sum * static_cast<float>(batch);
    column(label) -= 1.0F / static_cast<float>(batch);
  }
  return loss / static_cast<double>(batch);
}

BareNetwork bare_mlp(const Learner& learner, const DataSet& data) {
  const Index inputs = data.features, classes = data.classes;
  const auto parameters = static_cast<Index>(learner.parameters());
  const Shape shape{inputs, (parameters - classes) / (inputs + 1 + classes), classes};
  return [shape](const VectorXf& at, const DataSet& of, const std::vector<std::int32_t>& samples,
                 BareGradient& gradient) { compute(shape, at, of, samples, gradient); };
}

std::vector<double> train_bare(const BareTraining& settings, const BareNetwork& network,
                               const Learner& learner, const DataSet& data) {
  const std::vector<float> start = learner.initial_parameters();
  VectorXf parameters = Map<const VectorXf>(start.data(), static_cast<Index>(start.size()));
  VectorXf velocity = VectorXf::Zero(parameters.size());
  std::vector<BareGradient> gradients(static_cast<std::size_t>(settings.workers));
  std::vector<double> losses;
  const auto finish_step = [&]() noexcept {
    VectorXf mean = gradients.front().values;
    double loss = gradients.front().loss;
    for (std::size_t w = 1; w < gradients.size(); ++w) {
      mean += gradients[w].values;
      loss += gradients[w].loss;
    }
    mean /= static_cast<float>(settings.workers);
    velocity = settings.momentum * velocity + mean;
    parameters -= settings.learning_rate * velocity;
    losses.push_back(loss / settings.workers);
  };
  std::barrier all(settings.threads, finish_step);
  const auto work = [&](int thread) {
    for (int step = 1; step <= settings.steps; ++step) {
      for (int w = thread; w < settings.workers; w += settings.threads)
        network(parameters, data, learner.samples(w, static_cast<std::uint64_t>(step)),
                gradients[static_cast<std::size_t>(w)]);
      all.arrive_and_wait();
    }
  };
  std::vector<std::jthread> threads;
  for (int thread = 1; thread < settings.threads; ++thread) threads.emplace_back(work, thread);
  work(0);
  return losses;
}

}  // namespace simsgd::bench
