// transformer: the next token of a text, by a causal transformer (causal_transformer.hpp). The text's data
// set gives vocabulary and context. Four blocks of width 128 are the setting that nanoGPT trains on a CPU.
#include <fmt/format.h>

#include "sim/learn/model.hpp"
#include "sim/learn/models/causal_transformer.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

struct TransformerOptions {
  std::int64_t layers = 4, heads = 4, width = 128;
  bool bias = false;

  void fields(Fields& f) {
    f.whole("layers", layers, "Blocks of attention and perceptron").at_least(1).at_most(1024);
    f.whole("heads", heads, "Heads of attention; they divide the width").at_least(1);
    f.whole("width", width, "Numbers that stand for a token between blocks").at_least(1).at_most(65536);
    f.flag("bias", bias, "Whether linear layers and layer norms have biases, as GPT-2's");
  }
};

template <class T>
std::unique_ptr<Model<T>> make_transformer(const TransformerOptions& options, const DataSet& data) {
  if (!data.is_text())
    reject("name", fmt::format("transformer reads tokens, and the data set \"{}\" has none", data.name),
           "Use the data set text, or another model");
  if (options.width % options.heads != 0)
    reject("heads", fmt::format("do not divide the width of {}", options.width),
           "Use a divisor of the width");
  return std::make_unique<CausalTransformer<T>>(TransformerShape{.vocabulary = data.classes,
                                                                 .context = data.features,
                                                                 .width = options.width,
                                                                 .heads = options.heads,
                                                                 .depth = options.layers,
                                                                 .bias = options.bias});
}

}  // namespace

std::vector<ModelPlugin> transformer() {
  return {{{.name = "transformer",
            .summary = "Causal transformer that predicts the next token of a text, as GPT-2",
            .citation = "Vaswani et al., NeurIPS 2017, arXiv:1706.03762; Radford et al., 2019"},
           make_transformer<float>,
           make_transformer<double>}};
}

}  // namespace simsgd::models
