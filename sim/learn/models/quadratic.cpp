// Noisy quadratic: f(x) = mean_s 1/2 (x - b_s)^T A (x - b_s), gradient A (x - mean_s b_s), with A diagonal.
// The samples b_s and A come with the data set (data/quadratic.cpp), which knows the optimum. Least expected
// loss at x = mean b. Starts at x = 0. The noisy quadratic model of Zhang et al., NeurIPS 2019,
// arXiv:1907.04164, section 3. Checked by hand in tests/learn/models.cpp.
#include "sim/base/check.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

template <class T>
class Quadratic final : public Model<T> {
 public:
  explicit Quadratic(std::vector<T> curvature) : curvature_(std::move(curvature)) {}

  std::size_t parameters() const override { return curvature_.size(); }
  std::int64_t inputs() const override { return static_cast<std::int64_t>(curvature_.size()); }
  std::int64_t outputs() const override { return 0; }

  std::vector<LayerInfo> layers() const override {
    LayerInfo info;
    info.name = "quadratic";
    info.rows = inputs();
    info.columns = 1;
    info.forward_flop = 4.0 * static_cast<double>(inputs());  // subtract, square, multiply, add
    info.activations = 1;
    return {info};
  }

  void initialise(Stream /*stream*/, std::span<T> parameters) const override {
    std::fill(parameters.begin(), parameters.end(), T(0));
  }

  T loss_and_gradient(std::span<const T> parameters, const Batch<T>& batch, std::span<T> gradient,
                      LayerTap<T>* tap) const override {
    CHECK(gradient.size() == curvature_.size(), "a gradient of the wrong length");
    if (tap != nullptr) tap->layers.clear();
    Eigen::Map<Vector> mean(gradient.data(), inputs());
    const double value = loss(parameters, batch);
    mean = batch.inputs.col(0);
    for (Eigen::Index s = 1; s < batch.inputs.cols(); ++s) mean += batch.inputs.col(s);
    mean /= static_cast<T>(batch.size());
    mean = Eigen::Map<const Vector>(curvature_.data(), inputs())
               .cwiseProduct(Eigen::Map<const Vector>(parameters.data(), inputs()) - mean);
    return static_cast<T>(value);
  }

  typename Model<T>::Score score(std::span<const T> parameters, const Batch<T>& batch) const override {
    return {.loss = static_cast<T>(loss(parameters, batch))};
  }

 private:
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  double loss(std::span<const T> parameters, const Batch<T>& batch) const {
    CHECK(parameters.size() == curvature_.size(), "a parameter vector of the wrong length");
    CHECK(batch.size() > 0 && batch.inputs.rows() == inputs(),
          "a batch of another shape than the model's inputs");
    const Eigen::Map<const Vector> x(parameters.data(), inputs());
    const Eigen::Map<const Vector> a(curvature_.data(), inputs());
    double sum = 0;
    for (Eigen::Index s = 0; s < batch.inputs.cols(); ++s)
      sum += 0.5 * static_cast<double>(((x - batch.inputs.col(s)).array().square() * a.array()).sum());
    return sum / static_cast<double>(batch.size());
  }

  std::vector<T> curvature_;  // diagonal of A
};

template <class T>
std::unique_ptr<Model<T>> make_quadratic(const NoOptions&, const DataSet& data) {
  if (data.curvature.empty())
    reject("name", "quadratic needs a data set with a curvature, but \"" + data.name + "\" has none",
           "Use the data set quadratic, or another model");
  return std::make_unique<Quadratic<T>>(std::vector<T>(data.curvature.begin(), data.curvature.end()));
}

}  // namespace

template <class T>
std::vector<ModelPluginOf<T>> quadratic() {
  return {
      {{.name = "quadratic",
        .summary =
            "Noisy quadratic with known optimum; dimension, condition and noise come with the data set quadratic",
        .citation = "Zhang et al., NeurIPS 2019, arXiv:1907.04164"},
       make_quadratic<T>}};
}
template std::vector<ModelPluginOf<Scalar>> quadratic();

}  // namespace simsgd::models
