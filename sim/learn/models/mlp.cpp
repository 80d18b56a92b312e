// Multi-layer perceptron: linear layers with an activation between them. Cross-entropy on a data set with
// classes, half the squared distance on one with targets. Rumelhart, Hinton, Williams, Nature 323, 1986.
// Checked by hand in tests/learn/models.cpp.
#include "sim/learn/layers/activation.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

struct MlpOptions {
  std::vector<std::int64_t> hidden = {64};
  ActivationKind activation = ActivationKind::relu;

  void fields(Fields& f) {
    f.list("hidden", hidden, "The hidden layers have these sizes, in order; [] for none", "Size of a layer")
        .items_at_least(1)
        .items_at_most(65536);
    add_activation(f, activation, "Function that is applied to the outputs of every hidden layer");
  }
};

template <class T>
std::unique_ptr<Model<T>> make_mlp(const MlpOptions& options, const DataSet& data) {
  reject_text("mlp", data);
  if (data.classes == 0 && data.target_size == 0)
    reject("name", "mlp needs classes or targets, but the data set \"" + data.name + "\" has neither",
           "Use the model quadratic, or another data set");
  std::vector<std::int64_t> sizes = options.hidden;
  sizes.push_back(data.classes > 0 ? data.classes : data.target_size);
  typename FeedForward<T>::Layers layers;
  std::int64_t inputs = data.features;
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    if (l > 0) layers.push_back(std::make_unique<Activation<T>>(options.activation, inputs));
    layers.push_back(std::make_unique<Linear<T>>(
        LinearShape{.name = "linear" + std::to_string(l + 1), .inputs = inputs, .outputs = sizes[l]}));
    inputs = sizes[l];
  }
  return std::make_unique<FeedForward<T>>(std::move(layers),
                                          data.classes > 0 ? LossKind::cross_entropy : LossKind::squared);
}

}  // namespace

template <class T>
std::vector<ModelPluginOf<T>> mlp() {
  return {{{.name = "mlp",
            .summary = "Multi-layer perceptron; a classifier or a regression, as the data are",
            .citation = "Rumelhart, Hinton, Williams, Nature 323, 1986, doi:10.1038/323533a0"},
           make_mlp<T>}};
}
template std::vector<ModelPluginOf<Scalar>> mlp();

}  // namespace simsgd::models
