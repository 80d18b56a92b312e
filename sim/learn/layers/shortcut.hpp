// A shortcut without weights around some layers of a network on images: every `stride`-th pixel in both
// directions, and zeros for the channels that only the output has. Option A of He, Zhang, Ren, Sun, CVPR
// 2016, arXiv:1512.03385. With stride 1 and as many channels it is the identity.
#pragma once

#include <cstdint>

#include "sim/learn/layers/layer.hpp"

namespace simsgd {

struct Shortcut {
  std::int64_t channels = 0, height = 0, width = 0;  ///< of the input
  std::int64_t out_channels = 0;                     ///< no fewer
  std::int64_t stride = 1;

  std::int64_t out_height() const { return (height + stride - 1) / stride; }
  std::int64_t out_width() const { return (width + stride - 1) / stride; }
  std::int64_t inputs() const { return channels * height * width; }
  std::int64_t outputs() const { return out_channels * out_height() * out_width(); }

  /// output += shortcut(input), both with a column per sample.
  template <class T>
  void add(ConstView<T> input, View<T> output) const;
  /// The transpose: input_gradient += shortcut'(output_gradient).
  template <class T>
  void add_back(ConstView<T> output_gradient, View<T> input_gradient) const;
};

}  // namespace simsgd
