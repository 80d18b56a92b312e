#include "sim/learn/models/registry.hpp"

#include <fmt/format.h>

namespace simsgd {

void reject_text(const char* model, const DataSet& data) {
  if (data.is_text())
    reject("name", fmt::format("{} takes numbers, but the samples of \"{}\" are tokens", model, data.name),
           "Use the model transformer, or another data set");
}

void reject_other_than_images(const char* model, const DataSet& data) {
  reject_text(model, data);
  if (data.height == 0 || data.classes == 0)
    reject("name", fmt::format("{} classifies images, but the data set \"{}\" has none", model, data.name),
           "Use mlp, or a data set of images such as fashion_mnist");
}

}  // namespace simsgd
