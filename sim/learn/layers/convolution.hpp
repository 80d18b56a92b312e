// Convolution of square kernels, as a matrix product with the patches of the image (im2col):
//   y(f, p) = sum_k W(f, k) patch(k, p) + b(f),   k = (c * kernel + ky) * kernel + kx,  p = oy * out_width +
//   ox, patch(k, p) = x(c, oy * stride + ky - padding, ox * stride + kx - padding), 0 outside of the image
// (a cross-correlation, as in every framework). Chellapilla, Puri, Simard, "High Performance Convolutional
// Neural Networks for Document Processing", 2006. Patches are made sample by sample, so that they stay in the
// cache, from a copy of the image with its padding. Checked by hand in tests/learn/models.cpp and against
// finite differences in tests/learn/gradients.cpp.
#pragma once

#include <string>

#include "sim/learn/layers/layer.hpp"
#include "sim/learn/model.hpp"

namespace simsgd {

struct ConvolutionShape {
  std::string name;
  std::int64_t channels = 0;  ///< of the input
  std::int64_t height = 0, width = 0;
  std::int64_t filters = 0;  ///< channels of the output
  std::int64_t kernel = 3, stride = 1, padding = 0;
  bool bias = true;
  StartingWeights start = StartingWeights::uniform;

  std::int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  std::int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  std::int64_t positions() const { return out_height() * out_width(); }
  std::int64_t patch() const { return channels * kernel * kernel; }
  std::int64_t padded_width() const { return width + 2 * padding; }
  std::int64_t padded_height() const { return height + 2 * padding; }
  std::int64_t padded() const { return channels * padded_height() * padded_width(); }
};

/// Copies the patches of one image into `patches`, positions() x patch(), column-major. Uses padded() numbers
/// at `padded`.
template <class T>
void image_to_patches(const ConvolutionShape& shape, const T* image, T* patches, T* padded);
/// The transpose: every pixel becomes the sum of the entries of `patches` that came from it, in their order.
template <class T>
void patches_to_image(const ConvolutionShape& shape, const T* patches, T* image, T* padded);

template <class T>
class Convolution final : public ModelLayer<T> {
 public:
  /// The kernel fits the padded image.
  explicit Convolution(ConvolutionShape shape) : shape_(std::move(shape)) {}

  std::int64_t inputs() const override { return shape_.channels * shape_.height * shape_.width; }
  std::int64_t outputs() const override { return shape_.filters * shape_.positions(); }
  std::optional<LayerInfo> weights() const override;
  /// For patches and an image with its padding, the latter in whole cache lines.
  std::int64_t scratch() const override {
    return shape_.positions() * shape_.patch() + (shape_.padded() + 15) / 16 * 16;
  }
  void initialise(Stream& stream, std::span<T> weights) const override;
  void forward(const ForwardPass<T>& pass) const override;
  void backward(const BackwardPass<T>& pass) const override;

 private:
  void backward_weights(const BackwardPass<T>& pass) const;
  void backward_input(const BackwardPass<T>& pass) const;
  T* padded(T* scratch) const { return scratch + shape_.positions() * shape_.patch(); }

  ConvolutionShape shape_;
};

}  // namespace simsgd
