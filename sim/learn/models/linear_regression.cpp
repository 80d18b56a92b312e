// Linear regression: f(x) = W x + b, loss 1/2 |f(x) - y|^2. The student of a linear teacher (data set
// teacher_student): its least expected loss is known, and that is what convergence can be measured against.
// Hastie, Tibshirani, Friedman, "The Elements of Statistical Learning", 2009, section 3.2. Checked by hand in
// tests/learn/models.cpp.
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

struct LinearRegressionOptions {
  bool bias = true;
  void fields(Fields& f) { f.flag("bias", bias, "Whether to learn an intercept"); }
};

template <class T>
std::unique_ptr<Model<T>> make_linear_regression(const LinearRegressionOptions& options,
                                                 const DataSet& data) {
  if (data.target_size == 0)
    reject("name", "linear_regression needs targets, but the data set \"" + data.name + "\" has none",
           "Use softmax_regression or mlp, or a data set with targets such as teacher_student");
  typename FeedForward<T>::Layers layers;
  layers.push_back(std::make_unique<Linear<T>>(LinearShape{
      .name = "linear", .inputs = data.features, .outputs = data.target_size, .bias = options.bias}));
  return std::make_unique<FeedForward<T>>(std::move(layers), LossKind::squared);
}

}  // namespace

template <class T>
std::vector<ModelPluginOf<T>> linear_regression() {
  return {
      {{.name = "linear_regression",
        .summary = "Linear map with squared loss, the student of a linear teacher; convex",
        .citation =
            "Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, Springer 2009, section 3.2"},
       make_linear_regression<T>}};
}
template std::vector<ModelPluginOf<Scalar>> linear_regression();

}  // namespace simsgd::models
