// The table of models. To add one: write models/NAME.cpp with a template `std::vector<ModelPluginOf<T>>
// NAME()` in simsgd::models, instantiated for Scalar, and add one line to the list in CMakeLists.txt.
#pragma once

#include <memory>
#include <vector>

#include "sim/learn/dataset.hpp"
#include "sim/learn/model.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// Makers get the model's options and the shape of the data that it will learn (features, classes or target
/// size, image shape). They throw ParameterError if the two do not fit; "/name" says that it is the wrong
/// model.
template <class T>
using ModelPluginOf = Plugin<std::unique_ptr<Model<T>>, const DataSet&>;
using ModelPlugin = ModelPluginOf<float>;

/// Throws ParameterError if `data` are text, whose tokens no other model than a transformer reads.
void reject_text(const char* model, const DataSet& data);

/// Throws ParameterError if `data` are not images with classes.
void reject_other_than_images(const char* model, const DataSet& data);

/// In alphabetical order.
const std::vector<ModelPlugin>& model_plugins();
/// The same, to check gradients with: of the library simsgd_models_in_double, which only tests link.
const std::vector<ModelPluginOf<double>>& models_in_double();

}  // namespace simsgd
