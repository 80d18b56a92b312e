// The table of optimizers. To add one: write optimizers/NAME.cpp with a function
// `std::vector<OptimizerPlugin> NAME()` in simsgd::optimizers, and add one line to the list in
// ../CMakeLists.txt. The options that every optimizer has (learning rate and its schedule, clipping) the
// section of the scenario adds.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sim/learn/optimizer.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

using MadeRule = std::shared_ptr<const UpdateRule>;  // shared by copies of the settings

struct OptimizerPlugin : Plugin<MadeRule> {
  template <class Options>
  OptimizerPlugin(PluginInfo about, double usual_rate, MadeRule (*maker)(const Options&))
      : Plugin(std::move(about), maker), learning_rate(usual_rate) {}

  /// Of the scenario's object: with the options that every optimizer has.
  void form(Json& form) const;

  double learning_rate;  ///< where a scenario says none
};

/// The default first.
const std::vector<OptimizerPlugin>& optimizer_plugins();

/// What a scenario's object describes, with the options that every optimizer has. Throws ParameterError.
OptimizerSpec make_optimizer(const Json& object);

}  // namespace simsgd
