// The table of models. To add one: write models/NAME.cpp with a function `ModelPlugin NAME()` in
// simsgd::models, and add one line to the list in registry.cpp (and the file to CMakeLists.txt).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/learn/dataset.hpp"
#include "sim/learn/model.hpp"
#include "sim/parameters.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// Makers read the model's parameters and the shape of the data that it will learn (features, classes or
/// target size, image shape). They throw ParameterError if the two do not fit; "/name" says that it is the
/// wrong model.
struct ModelPlugin {
  PluginInfo info;
  std::unique_ptr<Model<float>> (*make)(const Parameters&, const DataSet&);
  std::unique_ptr<Model<double>> (*make_double)(const Parameters&, const DataSet&);
};

/// In alphabetical order.
const std::vector<ModelPlugin>& model_plugins();

}  // namespace simsgd
