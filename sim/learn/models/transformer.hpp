// A causal transformer that predicts the next token, GPT-2's: x_0 = E[token] + P[position]; of each of
// `depth` blocks x <- x + A(x), x <- x + M(x), with A = join o attention o (queries, keys, values) o norm and
// M = narrow o GELU o widen o norm (4 times as wide); scores = E^T norm(x), E the same matrix (weight tying).
//   loss: mean over tokens of the cross-entropy in nats, as every classifier's (loss.hpp)
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019; Vaswani et al., NeurIPS 2017,
// arXiv:1706.03762; tying: Press, Wolf, EACL 2017, arXiv:1608.05859. Without dropout. A column of a matrix is
// a token, sequence after sequence, so that every product is one over the whole batch; attention sees the
// columns of a sequence as one. Checked in tests/learn/gradients.cpp and tests/learn/transformer_torch.py.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

struct TransformerShape {
  std::int64_t vocabulary = 0;
  std::int64_t context = 0;  ///< tokens of a sample
  std::int64_t width = 128;
  std::int64_t heads = 4;  ///< divide the width
  std::int64_t depth = 4;
  bool bias = false;  ///< of linear layers and norms
};

template <class T>
class CausalTransformer final : public Model<T> {
 public:
  explicit CausalTransformer(const TransformerShape& shape);

  std::size_t parameters() const override { return parameters_; }
  std::vector<LayerInfo> layers() const override;
  std::int64_t inputs() const override { return shape_.context; }
  std::int64_t outputs() const override { return shape_.vocabulary; }
  /// Normal with deviation 0.02, and 0.02 / sqrt(2 depth) where a residual ends; biases 0, gains 1: GPT-2's.
  void initialise(Stream stream, std::span<T> parameters) const override;
  T loss_and_gradient(std::span<const T> parameters, const Batch<T>& batch, std::span<T> gradient,
                      LayerTap<T>* tap) const override;
  typename Model<T>::Score score(std::span<const T> parameters, const Batch<T>& batch) const override;

 private:
  using Memory = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  /// A layer of a residual branch, and what is fixed about its place.
  struct Stage {
    std::unique_ptr<const ModelLayer<T>> layer;
    bool whole_sequences = false;  ///< a column of its matrices is a sequence, not a token
    std::int64_t width = 0;        ///< of its outputs, for each token
    std::size_t weights = 0;
    std::int64_t outputs = 0;  ///< where they are in a call's memory, for each token
    std::int64_t tap = -1;     ///< which entry of a tap it fills
  };
  /// x <- x + last o ... o first (x).
  struct Branch {
    std::string name;
    std::array<Stage, 4> stages;
    std::int64_t input = 0;  ///< where x is
  };
  /// Where a call works.
  struct Call {
    std::span<const T> parameters;
    const Batch<T>& batch;
    T* memory;
    std::int64_t samples, tokens;
  };

  void add(Branch branch);
  void place(Stage& stage);
  std::int64_t reserve(std::int64_t width);
  Call call(std::span<const T> parameters, const Batch<T>& batch, Memory& memory, std::int64_t more) const;
  T* at(const Call& call, std::int64_t place) const { return call.memory + place * call.tokens; }
  T* scratch(const Call& call) const { return at(call, numbers_); }
  View<T> columns(const Call& call, const Stage& stage, T* data, std::int64_t width) const;

  void embed(const Call& call) const;
  void forward(const Call& call) const;
  View<T> scores(const Call& call) const;
  void backward(const Call& call, std::span<T> gradient, LayerTap<T>* tap) const;
  void backward_stage(const Call& call, const Stage& stage, T* input, T* arriving, T* leaving,
                      std::span<T> gradient, LayerTap<T>* tap) const;
  void embed_backward(const Call& call, const T* arriving, std::span<T> gradient) const;

  TransformerShape shape_;
  std::size_t position_weights_ = 0;
  std::vector<Branch> branches_;
  Stage norm_;
  std::int64_t last_ = 0;    // where the input of the last norm is
  std::int64_t scores_ = 0;  // where scores are
  std::size_t parameters_ = 0;
  std::int64_t taps_ = 0;
  std::int64_t numbers_ = 0;  // in a call's memory, for each token
  std::int64_t widest_ = 0;
  std::int64_t scratch_ = 0;
};

}  // namespace simsgd
