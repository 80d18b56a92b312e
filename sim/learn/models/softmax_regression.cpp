// Softmax (multinomial logistic) regression: class probabilities softmax(W x + b), cross-entropy loss.
// Convex. Bishop, "Pattern Recognition and Machine Learning", 2006, section 4.3.4. Checked by hand in
// tests/learn/models.cpp.
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

template <class T>
std::unique_ptr<Model<T>> make_softmax_regression(const NoOptions&, const DataSet& data) {
  reject_text("softmax_regression", data);
  if (data.classes == 0)
    reject("name",
           "softmax_regression is a classifier, but the data set \"" + data.name + "\" has no classes",
           "Use linear_regression or mlp, or a data set with classes");
  typename FeedForward<T>::Layers layers;
  layers.push_back(std::make_unique<Linear<T>>(
      LinearShape{.name = "linear", .inputs = data.features, .outputs = data.classes}));
  return std::make_unique<FeedForward<T>>(std::move(layers), LossKind::cross_entropy);
}

}  // namespace

template <class T>
std::vector<ModelPluginOf<T>> softmax_regression() {
  return {{{.name = "softmax_regression",
            .summary = "Linear classifier with cross-entropy loss; convex",
            .citation = "Bishop, Pattern Recognition and Machine Learning, Springer 2006, section 4.3.4"},
           make_softmax_regression<T>}};
}
template std::vector<ModelPluginOf<Scalar>> softmax_regression();

}  // namespace simsgd::models
