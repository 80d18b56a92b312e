#include "sim/learn/models/registry.hpp"

// One line per model.
#define SIMSGD_MODELS(MODEL) \
  MODEL(cnn)                 \
  MODEL(linear_regression)   \
  MODEL(mlp)                 \
  MODEL(quadratic)           \
  MODEL(softmax_regression)

namespace simsgd {

namespace models {
#define DECLARE(name) ModelPlugin name();
SIMSGD_MODELS(DECLARE)
#undef DECLARE
}  // namespace models

const std::vector<ModelPlugin>& model_plugins() {
#define ENTRY(name) models::name(),
  static const std::vector<ModelPlugin> table = {SIMSGD_MODELS(ENTRY)};
#undef ENTRY
  return table;
}

}  // namespace simsgd
