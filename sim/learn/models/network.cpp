#include "sim/learn/models/network.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/learn/loss.hpp"

namespace simsgd {

template <class T>
FeedForward<T>::FeedForward(Layers layers, LossKind loss, std::vector<Skip> skips)
    : layers_(std::move(layers)), loss_(loss), skips_(std::move(skips)) {
  CHECK(!layers_.empty() && !layers_.front()->in_place() && !layers_.back()->in_place(),
        "a network begins and ends with a layer that is not in place");
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const ModelLayer<T>& layer = *layers_[l];
    CHECK(l == 0 || layers_[l - 1]->outputs() == layer.inputs(), "layers that do not fit together");
    Place place;
    place.weights = parameters_;
    place.outputs = layer.in_place() ? places_.back().outputs : activations_;
    if (!layer.in_place()) activations_ += layer.outputs();
    if (const auto info = layer.weights()) {
      parameters_ += info->size();
      if (info->kind != LayerInfo::Kind::other) place.tap = taps_++;
    }
    widest_ = std::max({widest_, layer.outputs(), l == 0 ? 0 : layer.inputs()});
    scratch_ = std::max(scratch_, layer.scratch());
    places_.push_back(place);
  }
  for (std::size_t k = 0; k < skips_.size(); ++k) {
    const Skip& skip = skips_[k];
    CHECK(skip.from < skip.to && skip.to + 1 < layers_.size() && (k == 0 || skips_[k - 1].to <= skip.from),
          "skips that do not lie behind each other");
    CHECK(!layers_[skip.to]->in_place() && !layers_[skip.from + 1]->in_place(),
          "a skip from or to what a layer overwrites");
    CHECK(layers_[skip.from]->outputs() == skip.way.inputs() &&
              layers_[skip.to]->outputs() == skip.way.outputs(),
          "a skip that does not fit its layers");
    places_[skip.from].leaves = places_[skip.to].joins = &skip;
  }
}

template <class T>
std::vector<LayerInfo> FeedForward<T>::layers() const {
  std::vector<LayerInfo> all;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    if (auto info = layers_[l]->weights()) {
      info->offset = places_[l].weights;
      all.push_back(std::move(*info));
    }
  }
  return all;
}

template <class T>
void FeedForward<T>::initialise(Stream stream, std::span<T> parameters) const {
  CHECK(parameters.size() == parameters_, "a parameter vector of the wrong length");
  for (std::size_t l = 0; l < layers_.size(); ++l)
    if (const auto info = layers_[l]->weights())
      layers_[l]->initialise(stream, parameters.subspan(places_[l].weights, info->size()));
}

template <class T>
View<T> FeedForward<T>::outputs_of(std::size_t layer, T* memory, std::int64_t samples) const {
  return View<T>(memory + places_[layer].outputs * samples, layers_[layer]->outputs(), samples);
}

template <class T>
ConstView<T> FeedForward<T>::inputs_of(std::size_t layer, T* memory, const Batch<T>& batch) const {
  if (layer == 0) return ConstView<T>(batch.inputs.data(), batch.inputs.rows(), batch.inputs.cols());
  const View<T> view = outputs_of(layer - 1, memory, batch.size());
  return ConstView<T>(view.data(), view.rows(), view.cols());
}

template <class T>
void FeedForward<T>::check(std::span<const T> parameters, const Batch<T>& batch) const {
  CHECK(parameters.size() == parameters_, "a parameter vector of the wrong length");
  CHECK(batch.size() > 0 && batch.inputs.rows() == inputs(),
        "a batch of another shape than the network's inputs");
  if (loss_ == LossKind::cross_entropy)
    CHECK(batch.labels.size() == static_cast<std::size_t>(batch.size()),
          "a batch without a label for each sample");
  else
    CHECK(batch.targets.rows() == outputs() && batch.targets.cols() == batch.size(),
          "a batch without a target for each sample");
}

template <class T>
double FeedForward<T>::loss(View<T> outputs, const Batch<T>& batch, bool differentiate) const {
  return loss_ == LossKind::cross_entropy ? cross_entropy(outputs, batch.labels, differentiate)
                                          : squared_loss(outputs, batch.targets, differentiate);
}

// `memory`: outputs of all layers, scratch space.
template <class T>
void FeedForward<T>::forward(std::span<const T> parameters, const Batch<T>& batch, T* memory) const {
  T* scratch = memory + activations_ * batch.size();
  for (std::size_t l = 0; l < layers_.size() && batch.wanted(); ++l) {
    const View<T> output = outputs_of(l, memory, batch.size());
    layers_[l]->forward({.weights = parameters.data() + places_[l].weights,
                         .input = inputs_of(l, memory, batch),
                         .output = output,
                         .scratch = scratch});
    if (const Skip* skip = places_[l].joins) skip->way.add(inputs_of(skip->from + 1, memory, batch), output);
  }
}

// `memory`: outputs of all layers, of which the last holds the gradient of the loss; scratch space; two
// gradients, and one that takes a shortcut.
template <class T>
void FeedForward<T>::backward(std::span<const T> parameters, const Batch<T>& batch, T* memory,
                              std::span<T> gradient, LayerTap<T>* tap) const {
  const std::int64_t samples = batch.size();
  T* const scratch = memory + activations_ * samples;
  T* spare = scratch + scratch_;
  T* other_spare = spare + widest_ * samples;
  T* const aside = other_spare + widest_ * samples;
  T* arriving = outputs_of(layers_.size() - 1, memory, samples).data();
  for (std::size_t l = layers_.size(); l-- > 0 && batch.wanted();) {
    const ModelLayer<T>& layer = *layers_[l];
    T* const leaving = l == 0 ? nullptr : layer.in_place() ? arriving : spare;
    const View<T> output = outputs_of(l, memory, samples);
    if (const Skip* skip = places_[l].leaves)
      skip->way.add_back(ConstView<T>(aside, skip->way.outputs(), samples),
                         View<T>(arriving, layer.outputs(), samples));
    if (places_[l].joins != nullptr) std::copy_n(arriving, output.size(), aside);
    layer.backward({.weights = parameters.data() + places_[l].weights,
                    .input = inputs_of(l, memory, batch),
                    .output = ConstView<T>(output.data(), output.rows(), output.cols()),
                    .output_gradient = ConstView<T>(arriving, layer.outputs(), samples),
                    .input_gradient = View<T>(leaving, layer.inputs(), samples),
                    .weight_gradient = gradient.data() + places_[l].weights,
                    .scratch = scratch,
                    .tap = tap != nullptr && places_[l].tap >= 0
                               ? &tap->layers[static_cast<std::size_t>(places_[l].tap)]
                               : nullptr});
    if (!layer.in_place()) std::swap(spare, other_spare);
    arriving = leaving;
  }
}

template <class T>
T FeedForward<T>::loss_and_gradient(std::span<const T> parameters, const Batch<T>& batch,
                                    std::span<T> gradient, LayerTap<T>* tap) const {
  check(parameters, batch);
  CHECK(gradient.size() == parameters_, "a gradient of the wrong length");
  Memory memory((activations_ + (skips_.empty() ? 2 : 3) * widest_) * batch.size() + scratch_);
  forward(parameters, batch, memory.data());
  if (!batch.wanted()) return 0;
  const double value = loss(outputs_of(layers_.size() - 1, memory.data(), batch.size()), batch, true);
  if (tap != nullptr) tap->layers.resize(static_cast<std::size_t>(taps_));
  backward(parameters, batch, memory.data(), gradient, tap);
  return static_cast<T>(value);
}

template <class T>
typename Model<T>::Score FeedForward<T>::score(std::span<const T> parameters, const Batch<T>& batch) const {
  check(parameters, batch);
  Memory memory(activations_ * batch.size() + scratch_);
  forward(parameters, batch, memory.data());
  const View<T> outputs = outputs_of(layers_.size() - 1, memory.data(), batch.size());
  typename Model<T>::Score score;
  if (loss_ == LossKind::cross_entropy)
    score.correct =
        correct_predictions(ConstView<T>(outputs.data(), outputs.rows(), outputs.cols()), batch.labels);
  score.loss = static_cast<T>(loss(outputs, batch, false));
  return score;
}

template class FeedForward<Scalar>;

}  // namespace simsgd
