// Noisy quadratic: f(x) = mean_s 1/2 (x - b_s)^T A (x - b_s), for the model of the same name. A is diagonal
// with a_i = condition^(-i / (dimension - 1)), i = 0 ... dimension - 1, so the smoothness is 1 and the strong
// convexity 1 / condition. The samples are b_s = 1 + noise z_s with z_s standard normal, moved so that their
// mean is the vector of ones: the optimum. There the loss is 1/2 sum_i a_i var_i, known as `optimum`; at the
// start, x = 0, it is 1/2 sum_i a_i more. Zhang et al., NeurIPS 2019, arXiv:1907.04164, section 3.
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/learn/data/registry.hpp"
#include "sim/learn/model.hpp"

namespace simsgd::data_sources {

namespace {

struct QuadraticOptions {
  std::int64_t dimension = 100, samples = 1000;
  double condition = 100, noise = 1;

  void fields(Fields& f) {
    f.whole("dimension", dimension, "There are this many parameters").at_least(1).at_most(1000000);
    f.number("condition", condition, "Largest over smallest curvature; the largest is 1").at_least(1);
    f.number("noise", noise,
             "A sample lies around the optimum with this standard deviation, in every direction")
        .at_least(0);
    f.whole("samples", samples, "There are this many training samples").at_least(1).at_most(10000000);
  }
};

std::vector<double> spectrum(std::int64_t dimension, double condition) {
  std::vector<double> curvature(static_cast<std::size_t>(dimension), 1.0);
  for (std::size_t i = 1; i < curvature.size(); ++i)
    curvature[i] = std::pow(condition, -static_cast<double>(i) / static_cast<double>(curvature.size() - 1));
  return curvature;
}

// Least loss for the samples as they are after rounding to floats.
double least_loss(const DataSet& data) {
  const Eigen::Map<const Matrix<float>> samples(data.floats.data(), data.features, data.count);
  double loss = 0;
  for (Eigen::Index i = 0; i < samples.rows(); ++i) {
    const Eigen::ArrayXd row = samples.row(i).cast<double>().transpose().array();
    loss += 0.5 * data.curvature[static_cast<std::size_t>(i)] * (row - row.mean()).square().mean();
  }
  return loss;
}

DataSets load_quadratic(const QuadraticOptions& options, const DataContext& context) {
  auto data = std::make_shared<DataSet>();
  data->name = "quadratic";
  data->features = options.dimension;
  data->count = options.samples;
  data->curvature = spectrum(data->features, options.condition);
  Stream draws({context.seed, Purpose::data_set, 0, 0});
  Matrix<double> samples(data->features, data->count);
  for (double& entry : samples.reshaped()) entry = options.noise * draws.normal();
  samples.colwise() -= (samples.rowwise().mean().array() - 1.0).matrix().eval();
  data->floats.resize(static_cast<std::size_t>(samples.size()));
  Eigen::Map<Matrix<float>>(data->floats.data(), samples.rows(), samples.cols()) = samples.cast<float>();
  data->optimum = least_loss(*data);
  return {std::move(data), nullptr};
}

}  // namespace

std::vector<DataPlugin> quadratic() {
  return {{{.name = "quadratic",
            .summary = "Generated samples and curvature of a noisy quadratic with known optimum",
            .citation = "Zhang et al., NeurIPS 2019, arXiv:1907.04164"},
           load_quadratic}};
}

}  // namespace simsgd::data_sources
