// The table of models. To add one: write models/NAME.cpp with a function `std::vector<ModelPlugin> NAME()` in
// simsgd::models, and add one line to the list in CMakeLists.txt.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/learn/dataset.hpp"
#include "sim/learn/model.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// Makers get the model's options and the shape of the data that it will learn (features, classes or target
/// size, image shape). They throw ParameterError if the two do not fit; "/name" says that it is the wrong
/// model.
struct ModelPlugin : Plugin<std::unique_ptr<Model<float>>, const DataSet&> {
  template <class Options>
  ModelPlugin(PluginInfo about, std::unique_ptr<Model<float>> (*maker)(const Options&, const DataSet&),
              std::unique_ptr<Model<double>> (*maker_in_double)(const Options&, const DataSet&))
      : Plugin(about, maker), in_double(about, maker_in_double) {}

  Plugin<std::unique_ptr<Model<double>>, const DataSet&> in_double;  ///< the same, to check gradients with
};

/// Throws ParameterError if `data` are text, whose tokens no other model than a transformer reads.
void reject_text(const char* model, const DataSet& data);

/// Throws ParameterError if `data` are not images with classes.
void reject_other_than_images(const char* model, const DataSet& data);

/// In alphabetical order.
const std::vector<ModelPlugin>& model_plugins();

}  // namespace simsgd
