// Network: layers one after another, shortcuts around some of them, and a loss on the outputs of the last.
// Most models are a Network; a model's file only says which layers. All memory of a call is one block of its
// own, so that a network is safe to use from several threads at once.
#pragma once

#include <memory>
#include <vector>

#include "sim/learn/layers/layer.hpp"
#include "sim/learn/layers/shortcut.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

/// Mean over the samples of a batch (loss.hpp): of the cross-entropy, or of half the squared distance.
enum class LossKind : std::uint8_t { cross_entropy, squared };

template <class T>
class FeedForward final : public Model<T> {
 public:
  using Layers = std::vector<std::unique_ptr<const ModelLayer<T>>>;
  /// Adds to the outputs of layer `to` those of the earlier layer `from`.
  struct Skip {
    std::size_t from = 0, to = 0;
    Shortcut way;
  };

  /// Outputs of a layer are as many as the inputs of the next; neither the first nor the last is in place.
  /// Skips come in order and lie behind each other; `to` does not need its outputs to go backward (a norm),
  /// and what follows `from` is not in place.
  FeedForward(Layers layers, LossKind loss, std::vector<Skip> skips = {});

  std::size_t parameters() const override { return parameters_; }
  std::vector<LayerInfo> layers() const override;
  std::int64_t inputs() const override { return layers_.front()->inputs(); }
  std::int64_t outputs() const override { return layers_.back()->outputs(); }
  void initialise(Stream stream, std::span<T> parameters) const override;
  T loss_and_gradient(std::span<const T> parameters, const Batch<T>& batch, std::span<T> gradient,
                      LayerTap<T>* tap) const override;
  typename Model<T>::Score score(std::span<const T> parameters, const Batch<T>& batch) const override;

 private:
  using Memory = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  /// What is fixed about a layer's place: where its weights begin, where its outputs begin in a call's memory
  /// (numbers per sample), and which entry of a tap it fills (-1: none).
  struct Place {
    std::size_t weights = 0;
    std::int64_t outputs = 0;
    std::int64_t tap = -1;
    const Skip* joins = nullptr;   // what ends here
    const Skip* leaves = nullptr;  // what begins here
  };

  View<T> outputs_of(std::size_t layer, T* memory, std::int64_t samples) const;
  ConstView<T> inputs_of(std::size_t layer, T* memory, const Batch<T>& batch) const;
  void forward(std::span<const T> parameters, const Batch<T>& batch, T* memory) const;
  void backward(std::span<const T> parameters, const Batch<T>& batch, T* memory, std::span<T> gradient,
                LayerTap<T>* tap) const;
  double loss(View<T> outputs, const Batch<T>& batch, bool differentiate) const;
  void check(std::span<const T> parameters, const Batch<T>& batch) const;

  Layers layers_;
  LossKind loss_;
  std::vector<Skip> skips_;
  std::vector<Place> places_;
  std::size_t parameters_ = 0;
  std::int64_t taps_ = 0;
  std::int64_t activations_ = 0;  // of all layers, per sample
  std::int64_t widest_ = 0;       // inputs or outputs of the widest layer, per sample
  std::int64_t scratch_ = 0;
};

}  // namespace simsgd
