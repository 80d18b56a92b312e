#include "traces/recorders/kineto_layers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

namespace simsgd::kineto {

namespace {

struct Operator {
  std::string_view name;      // after "aten::"
  const char *called, *type;  // of the layer
  std::size_t input, first_parameter, parameters;
  bool transposed = false;  // the product's matrix is [columns, rows]
};

constexpr Operator kOperators[] = {{"conv1d", "conv", "conv", 0, 1, 2},
                                   {"conv2d", "conv", "conv", 0, 1, 2},
                                   {"conv3d", "conv", "conv", 0, 1, 2},
                                   {"linear", "fc", "fc", 0, 1, 2},
                                   {"addmm", "fc", "fc", 1, 2, 1, true},
                                   {"batch_norm", "bn", "bn", 0, 1, 2},
                                   {"layer_norm", "layer_norm", "other", 0, 2, 2},
                                   {"group_norm", "group_norm", "other", 0, 2, 2},
                                   {"embedding", "embedding", "embedding", 1, 0, 1}};

bool possible(const std::vector<double>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](double size) { return size >= 1 && size < 0x1p40; });
}

// [out, in, height, width] is the matrix [out, in x height x width] of the layer's product.
std::vector<double> tensor(const std::vector<double>& sizes, bool transposed) {
  if (sizes.size() < 2) return sizes;
  double columns = 1;
  for (std::size_t i = 1; i < sizes.size(); ++i) columns *= sizes[i];
  if (transposed) return {columns, sizes[0]};
  return {sizes[0], columns};
}

// Of the whole batch, by its input; kNotGiven for a convolution, whose stride is not told.
double outputs(const RecordedLayer& layer, const std::vector<double>& input) {
  const double entries = std::accumulate(input.begin(), input.end(), 1.0, std::multiplies<>());
  if (layer.type == "conv") return kNotGiven;
  if (layer.type == "fc") return entries / input.back() * layer.tensors[0][0];
  if (layer.type == "embedding" && layer.tensors[0].size() == 2) return entries * layer.tensors[0][1];
  return entries;
}

}  // namespace

std::optional<LayerKind> layer_of(const TraceEvent& event) {
  std::string_view name = event.name;
  if (event.size_ends.empty() || !name.starts_with("aten::")) return std::nullopt;
  name.remove_prefix(6);
  const auto* known = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [name](const Operator& each) { return each.name == name; });
  if (known == std::end(kOperators)) return std::nullopt;
  LayerKind kind;
  kind.layer.name = known->called;
  kind.layer.type = known->type;
  const std::vector<double> input = event.input(known->input);
  if (input.empty() || !possible(input)) return std::nullopt;
  kind.batch = input[0];
  for (std::size_t i = 0; i < known->parameters; ++i) {
    const std::vector<double> sizes = event.input(known->first_parameter + i);
    if (!possible(sizes)) return std::nullopt;
    if (!sizes.empty()) kind.layer.tensors.push_back(tensor(sizes, known->transposed));
  }
  if (known->transposed)  // addmm(bias, input, weight)
    if (const std::vector<double> bias = event.input(0); bias.size() == 1 && possible(bias))
      kind.layer.tensors.push_back(bias);
  if (kind.layer.tensors.empty()) return std::nullopt;
  kind.layer.activations = event.outputs > 0 ? event.outputs : outputs(kind.layer, input);
  if (!(kind.layer.activations < 0x1p53)) kind.layer.activations = kNotGiven;
  return kind;
}

}  // namespace simsgd::kineto
