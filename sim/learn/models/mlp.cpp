// Multi-layer perceptron: linear layers with an activation between them. Cross-entropy on a data set with
// classes, half the squared distance on one with targets. Rumelhart, Hinton, Williams, Nature 323, 1986.
// Checked by hand in tests/learn/models.cpp.
#include "sim/learn/layers/activation.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/models/network.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

template <class T>
std::unique_ptr<Model<T>> make_mlp(const Parameters& parameters, const DataSet& data) {
  if (data.classes == 0 && data.target_size == 0)
    Parameters::reject("name",
                       "mlp needs classes or targets, and the data set \"" + data.name + "\" has neither",
                       "Use the model quadratic, or another data set");
  std::vector<std::int64_t> sizes = {64};
  if (parameters.has("hidden")) sizes = parameters.json().at("hidden").get<std::vector<std::int64_t>>();
  sizes.push_back(data.classes > 0 ? data.classes : data.target_size);
  const ActivationKind activation = activation_from_name(parameters.text("activation", "relu"));
  typename FeedForward<T>::Layers layers;
  std::int64_t inputs = data.features;
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    if (l > 0) layers.push_back(std::make_unique<Activation<T>>(activation, inputs));
    layers.push_back(std::make_unique<Linear<T>>(
        LinearShape{.name = "linear" + std::to_string(l + 1), .inputs = inputs, .outputs = sizes[l]}));
    inputs = sizes[l];
  }
  return std::make_unique<FeedForward<T>>(std::move(layers),
                                          data.classes > 0 ? LossKind::cross_entropy : LossKind::squared);
}

}  // namespace

ModelPlugin mlp() {
  PluginInfo info;
  info.name = "mlp";
  info.summary = "Multi-layer perceptron; a classifier or a regression, as the data are";
  info.citation = "Rumelhart, Hinton, Williams, Nature 323, 1986, doi:10.1038/323533a0";
  info.properties["hidden"] = {{"type", "array"},
                               {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", 65536}}},
                               {"default", {64}},
                               {"description", "Sizes of the hidden layers, in order; [] for none"}};
  info.properties["activation"] = {{"enum", activation_names()},
                                   {"default", "relu"},
                                   {"description", "Function applied to the outputs of every hidden layer"}};
  return {info, make_mlp<float>, make_mlp<double>};
}

}  // namespace simsgd::models
