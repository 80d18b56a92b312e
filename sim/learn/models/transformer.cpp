// transformer: the next token of a text, by a causal transformer (causal_transformer.hpp). The text's data
// set gives vocabulary and context. Four blocks of width 128 are the setting that nanoGPT trains on a CPU.
#include "sim/learn/models/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/learn/layers/activation.hpp"
#include "sim/learn/layers/attention.hpp"
#include "sim/learn/layers/linear.hpp"
#include "sim/learn/layers/norm.hpp"
#include "sim/learn/loss.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/models/registry.hpp"

namespace simsgd::models {

namespace {

struct TransformerOptions {
  std::int64_t layers = 4, heads = 4, width = 128;
  bool bias = false;

  void fields(Fields& f) {
    f.whole("layers", layers, "The model has this many blocks of attention and perceptron")
        .at_least(1)
        .at_most(1024);
    f.whole("heads", heads, "Heads of attention; they divide the width").at_least(1);
    f.whole("width", width, "This many numbers represent a token between blocks").at_least(1).at_most(65536);
    f.flag("bias", bias, "Whether linear layers and layer norms have biases, as GPT-2's");
  }
};

template <class T>
std::unique_ptr<Model<T>> make_transformer(const TransformerOptions& options, const DataSet& data) {
  if (!data.is_text())
    reject("name", fmt::format("transformer reads tokens, but the data set \"{}\" has none", data.name),
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

template <class T>
std::vector<ModelPluginOf<T>> transformer() {
  return {{{.name = "transformer",
            .summary = "Causal transformer that predicts the next token of a text, as GPT-2",
            .citation = "Vaswani et al., NeurIPS 2017, arXiv:1706.03762; Radford et al., 2019"},
           make_transformer<T>}};
}
template std::vector<ModelPluginOf<Scalar>> transformer();

}  // namespace simsgd::models

namespace simsgd {

namespace {

constexpr double kDeviation = 0.02;  // of the weights at the start: GPT-2's

template <class T>
void fill_normal(Stream& stream, double deviation, std::span<T> weights) {
  for (T& weight : weights) weight = static_cast<T>(deviation * stream.normal());
}

template <class T>
std::unique_ptr<const ModelLayer<T>> linear(std::string name, std::int64_t inputs, std::int64_t outputs,
                                            bool bias) {
  return std::make_unique<Linear<T>>(
      LinearShape{.name = std::move(name), .inputs = inputs, .outputs = outputs, .bias = bias});
}

template <class T>
std::unique_ptr<const ModelLayer<T>> layer_norm(std::string name, std::int64_t size, bool bias) {
  return std::make_unique<Norm<T>>(NormShape{.name = std::move(name), .channels = size, .bias = bias});
}

}  // namespace

template <class T>
CausalTransformer<T>::CausalTransformer(const TransformerShape& shape) : shape_(shape) {
  CHECK(shape.heads > 0 && shape.width % shape.heads == 0, "heads divide the width of a transformer");
  const std::int64_t width = shape.width;
  position_weights_ = static_cast<std::size_t>(width * shape.vocabulary);
  parameters_ = position_weights_ + static_cast<std::size_t>(width * shape.context);
  const AttentionShape attention{.width = width, .heads = shape.heads, .positions = shape.context};
  for (std::int64_t b = 1; b <= shape.depth; ++b) {
    const std::string block = "block" + std::to_string(b);
    const std::string see = block + ".attention", think = block + ".mlp";
    Branch seeing{see, {}}, thinking{think, {}};
    seeing.stages[0].layer = layer_norm<T>(see + ".norm", width, shape.bias);
    seeing.stages[1].layer = linear<T>(see + ".qkv", width, 3 * width, shape.bias);
    seeing.stages[2].layer = std::make_unique<CausalAttention<T>>(attention);
    seeing.stages[2].whole_sequences = true;
    seeing.stages[3].layer = linear<T>(see + ".join", width, width, shape.bias);
    thinking.stages[0].layer = layer_norm<T>(think + ".norm", width, shape.bias);
    thinking.stages[1].layer = linear<T>(think + ".widen", width, 4 * width, shape.bias);
    thinking.stages[2].layer = std::make_unique<Gelu<T>>(4 * width);
    thinking.stages[3].layer = linear<T>(think + ".narrow", 4 * width, width, shape.bias);
    add(std::move(seeing));
    add(std::move(thinking));
  }
  last_ = reserve(width);
  norm_.layer = layer_norm<T>("norm", width, shape.bias);
  place(norm_);
  scores_ = reserve(shape.vocabulary);
}

template <class T>
std::int64_t CausalTransformer<T>::reserve(std::int64_t width) {
  widest_ = std::max(widest_, width);
  return std::exchange(numbers_, numbers_ + width);
}

template <class T>
void CausalTransformer<T>::place(Stage& stage) {
  const std::int64_t columns = stage.whole_sequences ? shape_.context : 1;
  stage.width = stage.layer->outputs() / columns;
  stage.outputs = reserve(stage.width);
  stage.weights = parameters_;
  scratch_ = std::max(scratch_, stage.layer->scratch());
  if (const auto info = stage.layer->weights()) {
    parameters_ += info->size();
    if (info->kind != LayerInfo::Kind::other) stage.tap = taps_++;
  }
}

// The last stage's outputs are where the next branch, or the last norm, has its input.
template <class T>
void CausalTransformer<T>::add(Branch branch) {
  branch.input = reserve(shape_.width);
  for (Stage& stage : branch.stages) place(stage);
  numbers_ -= branch.stages.back().width;
  branches_.push_back(std::move(branch));
}

template <class T>
std::vector<LayerInfo> CausalTransformer<T>::layers() const {
  const auto tokens = static_cast<double>(shape_.context), width = static_cast<double>(shape_.width);
  std::vector<LayerInfo> all(2);
  all[0].name = "tokens", all[0].columns = shape_.vocabulary;
  all[1].name = "positions", all[1].columns = shape_.context;
  all[1].offset = position_weights_;
  for (LayerInfo& embedding : all) {
    embedding.rows = shape_.width;
    embedding.activations = shape_.width * shape_.context;
  }
  const auto add = [&](const Stage& stage, double more_flop, std::int64_t more_activations) {
    LayerInfo info = *stage.layer->weights();
    info.offset = stage.weights;
    info.positions = shape_.context;
    info.forward_flop = tokens * info.forward_flop + more_flop;
    info.activations = shape_.context * (info.activations + more_activations);
    all.push_back(std::move(info));
  };
  for (const Branch& branch : branches_) {
    add(branch.stages[0], 0, 0);
    // What has no weights counts with the product before it: scores and means of values, or GELU.
    const Stage& middle = branch.stages[2];
    const bool attends = middle.whole_sequences;
    add(branch.stages[1], attends ? 4 * tokens * tokens * width : 0, middle.width);
    add(branch.stages[3], 0, 0);
  }
  add(norm_, 2 * tokens * width * static_cast<double>(shape_.vocabulary), shape_.vocabulary);
  return all;
}

template <class T>
void CausalTransformer<T>::initialise(Stream stream, std::span<T> parameters) const {
  CHECK(parameters.size() == parameters_, "a parameter vector of the wrong length");
  const std::size_t embeddings = position_weights_ + static_cast<std::size_t>(shape_.width * shape_.context);
  fill_normal(stream, kDeviation, parameters.first(embeddings));
  const double ending = kDeviation / std::sqrt(2.0 * static_cast<double>(shape_.depth));
  for (const LayerInfo& info : layers()) {
    if (info.offset < embeddings) continue;
    const std::span<T> weights = parameters.subspan(info.offset, info.size());
    const auto matrix = static_cast<std::size_t>(info.rows * info.columns);
    std::fill(weights.begin(), weights.end(), T(0));
    if (info.kind == LayerInfo::Kind::other)
      std::fill_n(weights.begin(), matrix, T(1));
    else
      fill_normal(stream,
                  info.name.ends_with(".join") || info.name.ends_with(".narrow") ? ending : kDeviation,
                  weights.first(matrix));
  }
}

template <class T>
typename CausalTransformer<T>::Call CausalTransformer<T>::call(std::span<const T> parameters,
                                                               const Batch<T>& batch, Memory& memory,
                                                               std::int64_t more) const {
  const std::int64_t tokens = batch.size() * shape_.context;
  CHECK(parameters.size() == parameters_, "a parameter vector of the wrong length");
  CHECK(batch.size() > 0 && batch.inputs.rows() == shape_.context,
        "a batch of sequences of another length than the transformer's context");
  CHECK(batch.labels.size() == static_cast<std::size_t>(tokens), "a batch without a label for each token");
  memory.resize((numbers_ + more) * tokens + scratch_);
  return {parameters, batch, memory.data(), batch.size(), tokens};
}

template <class T>
View<T> CausalTransformer<T>::columns(const Call& call, const Stage& stage, T* data,
                                      std::int64_t width) const {
  return stage.whole_sequences ? View<T>(data, width * shape_.context, call.samples)
                               : View<T>(data, width, call.tokens);
}

template <class T>
void CausalTransformer<T>::embed(const Call& call) const {
  View<T> embedded(at(call, branches_.empty() ? last_ : branches_.front().input), shape_.width, call.tokens);
  const ConstView<T> of_token(call.parameters.data(), shape_.width, shape_.vocabulary);
  const ConstView<T> of_position(call.parameters.data() + position_weights_, shape_.width, shape_.context);
  for (Eigen::Index n = 0; n < call.tokens; ++n)
    embedded.col(n) = of_token.col(static_cast<Eigen::Index>(call.batch.inputs.data()[n])) +
                      of_position.col(n % shape_.context);
}

template <class T>
void CausalTransformer<T>::forward(const Call& call) const {
  const auto run = [&](const Stage& stage, T* input, std::int64_t input_width) {
    const View<T> view = columns(call, stage, input, input_width);
    T* const output = at(call, stage.outputs);
    stage.layer->forward({.weights = call.parameters.data() + stage.weights,
                          .input = ConstView<T>(view.data(), view.rows(), view.cols()),
                          .output = columns(call, stage, output, stage.width),
                          .scratch = scratch(call)});
    return output;
  };
  embed(call);
  for (const Branch& branch : branches_) {
    if (!call.batch.wanted()) return;
    T* values = at(call, branch.input);
    std::int64_t width = shape_.width;
    for (const Stage& stage : branch.stages) {
      values = run(stage, values, width);
      width = stage.width;
    }
    View<T>(values, shape_.width, call.tokens) += View<T>(at(call, branch.input), shape_.width, call.tokens);
  }
  const ConstView<T> normal(run(norm_, at(call, last_), shape_.width), shape_.width, call.tokens);
  scores(call).noalias() =
      ConstView<T>(call.parameters.data(), shape_.width, shape_.vocabulary).transpose() * normal;
}

template <class T>
View<T> CausalTransformer<T>::scores(const Call& call) const {
  return View<T>(at(call, scores_), shape_.vocabulary, call.tokens);
}

template <class T>
void CausalTransformer<T>::backward_stage(const Call& call, const Stage& stage, T* input, T* arriving,
                                          T* leaving, std::span<T> gradient, LayerTap<T>* tap) const {
  const std::int64_t per_column = stage.whole_sequences ? shape_.context : 1;
  const View<T> in = columns(call, stage, input, stage.layer->inputs() / per_column);
  const View<T> out = columns(call, stage, at(call, stage.outputs), stage.width);
  stage.layer->backward({.weights = call.parameters.data() + stage.weights,
                         .input = ConstView<T>(in.data(), in.rows(), in.cols()),
                         .output = ConstView<T>(out.data(), out.rows(), out.cols()),
                         .output_gradient = ConstView<T>(arriving, out.rows(), out.cols()),
                         .input_gradient = View<T>(leaving, in.rows(), in.cols()),
                         .weight_gradient = gradient.data() + stage.weights,
                         .scratch = scratch(call),
                         .tap = tap != nullptr && stage.tap >= 0
                                    ? &tap->layers[static_cast<std::size_t>(stage.tap)]
                                    : nullptr});
}

// Scores hold the gradient of the loss. Behind the scratch space: the gradient along the residuals, and two
// that belong to a branch.
template <class T>
void CausalTransformer<T>::backward(const Call& call, std::span<T> gradient, LayerTap<T>* tap) const {
  T* const residual = scratch(call) + scratch_;
  T* const first = residual + shape_.width * call.tokens;
  T* const second = first + widest_ * call.tokens;
  const ConstView<T> change(at(call, scores_), shape_.vocabulary, call.tokens);
  const ConstView<T> normal(at(call, norm_.outputs), shape_.width, call.tokens);
  View<T>(gradient.data(), shape_.width, shape_.vocabulary).noalias() = normal * change.transpose();
  View<T>(first, shape_.width, call.tokens).noalias() =
      ConstView<T>(call.parameters.data(), shape_.width, shape_.vocabulary) * change;
  backward_stage(call, norm_, at(call, last_), first, residual, gradient, tap);
  for (auto branch = branches_.rbegin(); branch != branches_.rend(); ++branch) {
    if (!call.batch.wanted()) return;
    T* arriving = residual;
    T* leaving = first;
    for (std::size_t s = branch->stages.size(); s-- > 0;) {
      T* const input = at(call, s == 0 ? branch->input : branch->stages[s - 1].outputs);
      backward_stage(call, branch->stages[s], input, arriving, leaving, gradient, tap);
      arriving = leaving;
      leaving = leaving == first ? second : first;
    }
    View<T>(residual, shape_.width, call.tokens) += View<T>(arriving, shape_.width, call.tokens);
  }
  embed_backward(call, residual, gradient);
}

template <class T>
void CausalTransformer<T>::embed_backward(const Call& call, const T* arriving, std::span<T> gradient) const {
  const ConstView<T> change(arriving, shape_.width, call.tokens);
  View<T> of_token(gradient.data(), shape_.width, shape_.vocabulary);
  View<T> of_position(gradient.data() + position_weights_, shape_.width, shape_.context);
  of_position.setZero();
  for (Eigen::Index n = 0; n < call.tokens; ++n) {
    of_token.col(static_cast<Eigen::Index>(call.batch.inputs.data()[n])) += change.col(n);
    of_position.col(n % shape_.context) += change.col(n);
  }
}

template <class T>
T CausalTransformer<T>::loss_and_gradient(std::span<const T> parameters, const Batch<T>& batch,
                                          std::span<T> gradient, LayerTap<T>* tap) const {
  CHECK(gradient.size() == parameters_, "a gradient of the wrong length");
  Memory memory;
  const Call all = call(parameters, batch, memory, shape_.width + 2 * widest_);
  forward(all);
  if (!batch.wanted()) return 0;
  const double value = cross_entropy(scores(all), batch.labels, true);
  if (tap != nullptr) tap->layers.resize(static_cast<std::size_t>(taps_));
  backward(all, gradient, tap);
  return static_cast<T>(value);
}

template <class T>
typename Model<T>::Score CausalTransformer<T>::score(std::span<const T> parameters,
                                                     const Batch<T>& batch) const {
  Memory memory;
  const Call all = call(parameters, batch, memory, 0);
  forward(all);
  typename Model<T>::Score score;
  score.correct =
      correct_predictions(ConstView<T>(at(all, scores_), shape_.vocabulary, all.tokens), batch.labels);
  score.loss = static_cast<T>(cross_entropy(scores(all), batch.labels, false));
  return score;
}

template class CausalTransformer<Scalar>;

}  // namespace simsgd
