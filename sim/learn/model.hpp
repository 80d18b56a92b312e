// Models. One model is one file under models/, listed in CMakeLists.txt; it is a flat parameter vector and a
// function from a batch to loss and gradient. Templated on the scalar so that the gradient that trains in
// float can be checked in double.
#pragma once

#include <Eigen/Core>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/random.hpp"

namespace simsgd {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;  // column-major; one column per sample

/// A batch: `inputs` is features x samples. Classification fills `labels` (class of each sample; of text, of
/// each token of each sample, in order), regression `targets` (outputs x samples); a problem that needs
/// neither (a quadratic) leaves both empty.
template <class T>
struct Batch {
  Matrix<T> inputs;
  std::vector<std::int32_t> labels;
  Matrix<T> targets;
  /// Where it is set and becomes true, nobody wants the gradient any more: computing may stop.
  const std::atomic<bool>* given_up = nullptr;
  bool wanted() const { return given_up == nullptr || !*given_up; }
  std::int64_t size() const { return inputs.cols(); }
};

/// A layer with weights, as a slice of the flat parameter vector: `rows` x `columns` weights, column-major,
/// then `rows` biases if `bias`. A linear layer that is applied to every token has `positions`. A convolution
/// is the matrix of its im2col product: rows = output channels, columns = c_in kh kw.
struct LayerInfo {
  std::string name;
  enum class Kind { linear, convolution, other } kind = Kind::other;
  std::size_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool bias = false;
  std::int64_t positions = 1;    ///< output height x width of a convolution, tokens of a text, else 1
  double forward_flop = 0;       ///< per sample, a multiply-add counts 2
  std::int64_t activations = 0;  ///< output entries per sample
  std::size_t size() const { return static_cast<std::size_t>(rows * columns + (bias ? rows : 0)); }
};

/// What is tapped of a layer in one backward pass. For layer l: `input` is (columns [+1 row of ones if
/// bias]) x (samples * positions), `output_gradient` is rows x (samples * positions), of the *mean* loss.
template <class T>
struct LayerTap {
  struct Entry {
    Matrix<T> input;
    Matrix<T> output_gradient;
  };
  std::vector<Entry> layers;  ///< one per LayerInfo of kind linear or convolution, in forward order
};

template <class T>
class Model {
 public:
  virtual ~Model() = default;

  virtual std::size_t parameters() const = 0;
  virtual std::vector<LayerInfo> layers() const = 0;
  virtual std::int64_t inputs() const = 0;   ///< features of a sample
  virtual std::int64_t outputs() const = 0;  ///< classes, or dimension of a target

  /// Fills `parameters` with the starting point.
  virtual void initialise(Stream stream, std::span<T> parameters) const = 0;

  /// Mean loss of the batch, and its gradient into `gradient` (all of it is overwritten). `tap` may be null.
  virtual T loss_and_gradient(std::span<const T> parameters, const Batch<T>& batch, std::span<T> gradient,
                              LayerTap<T>* tap) const = 0;

  /// Mean loss, and the number of samples (of text: tokens) classified correctly (-1 where that has no
  /// meaning).
  struct Score {
    T loss = 0;
    std::int64_t correct = -1;
  };
  virtual Score score(std::span<const T> parameters, const Batch<T>& batch) const = 0;
};

}  // namespace simsgd
