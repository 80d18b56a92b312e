#include "sim/learn/layers/convolution.hpp"

#include <algorithm>
#include <cstring>

namespace simsgd {

namespace {

struct PlaneRows {
  std::int64_t rows, size;
};

// Rows are short: they are copied in blocks of a size that the compiler knows, of which the last may overlap
// the one before.
template <std::int64_t kBlock, class T>
void copy_in_blocks(const PlaneRows& plane, const T* from, std::int64_t from_down, T* to,
                    std::int64_t to_down) {
  for (std::int64_t y = 0; y < plane.rows; ++y, from += from_down, to += to_down) {
    for (std::int64_t i = 0; i + kBlock <= plane.size; i += kBlock)
      std::memcpy(to + i, from + i, kBlock * sizeof(T));
    const std::int64_t last = plane.size - kBlock;
    std::memcpy(to + last, from + last, kBlock * sizeof(T));
  }
}
template <class T>
void copy_plane(const PlaneRows& plane, const T* from, std::int64_t from_down, T* to, std::int64_t to_down) {
  if (plane.size >= 8) return copy_in_blocks<8>(plane, from, from_down, to, to_down);
  if (plane.size >= 4) return copy_in_blocks<4>(plane, from, from_down, to, to_down);
  copy_in_blocks<1>(plane, from, from_down, to, to_down);
}

// Adds a row in blocks as well; says how far it came.
template <int kBlock, class T>
std::int64_t add_in_blocks(const T* from, std::int64_t begin, std::int64_t size, T* to) {
  using Block = Eigen::Array<T, kBlock, 1>;
  for (; begin + kBlock <= size; begin += kBlock)
    Eigen::Map<Block>(to + begin) += Eigen::Map<const Block>(from + begin);
  return begin;
}
template <class T>
void add_row(const T* from, std::int64_t size, T* to) {
  const std::int64_t eights = add_in_blocks<8>(from, 0, size, to),
                     fours = add_in_blocks<4>(from, eights, size, to);
  add_in_blocks<1>(from, fours, size, to);
}

// Calls entry(padded) for every entry of the kernel, in the order of the patches: where it finds its first
// pixel in the image with its padding.
template <class Entry>
void for_each_entry(const ConvolutionShape& shape, Entry entry) {
  const std::int64_t wide = shape.padded_width();
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::int64_t ky = 0; ky < shape.kernel; ++ky)
      for (std::int64_t kx = 0; kx < shape.kernel; ++kx) entry((c * shape.padded_height() + ky) * wide + kx);
}

// Calls plane(image, padded) for every channel: where it begins in the image, and in the image with its
// padding.
template <class Plane>
void for_each_plane(const ConvolutionShape& shape, Plane plane) {
  const std::int64_t wide = shape.padded_width();
  for (std::int64_t c = 0; c < shape.channels; ++c)
    plane(c * shape.height * shape.width, (c * shape.padded_height() + shape.padding) * wide + shape.padding);
}

}  // namespace

template <class T>
void image_to_patches(const ConvolutionShape& shape, const T* image, T* patches, T* padded) {
  const std::int64_t width = shape.width, wide = shape.padded_width(), stride = shape.stride;
  std::fill_n(padded, shape.padded(), T(0));
  for_each_plane(shape, [&](std::int64_t from, std::int64_t to) {
    copy_plane({shape.height, width}, image + from, width, padded + to, wide);
  });
  const std::int64_t rows = shape.out_height(), size = shape.out_width();
  for_each_entry(shape, [&](std::int64_t pixel) {
    const T* from = padded + pixel;
    if (stride == 1)
      copy_plane({rows, size}, from, wide, patches, size);
    else
      for (std::int64_t y = 0; y < rows; ++y)
        for (std::int64_t x = 0; x < size; ++x) patches[y * size + x] = from[stride * (y * wide + x)];
    patches += rows * size;
  });
}

template <class T>
void patches_to_image(const ConvolutionShape& shape, const T* patches, T* image, T* padded) {
  const std::int64_t wide = shape.padded_width(), stride = shape.stride;
  std::fill_n(padded, shape.padded(), T(0));
  const std::int64_t rows = shape.out_height(), size = shape.out_width();
  for_each_entry(shape, [&](std::int64_t pixel) {
    T* to = padded + pixel;
    for (std::int64_t y = 0; y < rows; ++y, patches += size, to += stride * wide)
      if (stride == 1)
        add_row(patches, size, to);
      else
        for (std::int64_t x = 0; x < size; ++x) to[stride * x] += patches[x];
  });
  for_each_plane(shape, [&](std::int64_t to, std::int64_t from) {
    copy_plane({shape.height, shape.width}, padded + from, wide, image + to, shape.width);
  });
}

template <class T>
std::optional<LayerInfo> Convolution<T>::weights() const {
  LayerInfo info;
  info.name = shape_.name;
  info.kind = LayerInfo::Kind::convolution;
  info.rows = shape_.filters;
  info.columns = shape_.patch();
  info.bias = shape_.bias;
  info.positions = shape_.positions();
  info.forward_flop = 2.0 * static_cast<double>(shape_.filters * shape_.patch() * shape_.positions());
  info.activations = outputs();
  return info;
}

template <class T>
void Convolution<T>::initialise(Stream& stream, std::span<T> weights) const {
  if (shape_.start == StartingWeights::uniform) return initialise_uniform(stream, shape_.patch(), weights);
  const auto matrix = static_cast<std::size_t>(shape_.filters * shape_.patch());
  initialise_he(stream, shape_.patch(), weights.first(matrix));
  std::fill(weights.begin() + static_cast<std::ptrdiff_t>(matrix), weights.end(), T(0));
}

template <class T>
void Convolution<T>::forward(const ForwardPass<T>& pass) const {
  const ConstView<T> weights(pass.weights, shape_.filters, shape_.patch());
  const T* bias = pass.weights + shape_.filters * shape_.patch();
  const ConstView<T> patches(pass.scratch, shape_.positions(), shape_.patch());
  T* output = View<T>(pass.output).data();
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    image_to_patches(shape_, pass.input.data() + s * inputs(), pass.scratch, padded(pass.scratch));
    View<T> image(output + s * outputs(), shape_.positions(), shape_.filters);
    image.noalias() = patches * weights.transpose();
    for (std::int64_t f = 0; shape_.bias && f < shape_.filters; ++f) image.col(f).array() += bias[f];
  }
}

template <class T>
void Convolution<T>::backward(const BackwardPass<T>& pass) const {
  backward_weights(pass);
  if (pass.input_gradient.data() != nullptr) backward_input(pass);
}

template <class T>
void Convolution<T>::backward_weights(const BackwardPass<T>& pass) const {
  View<T> weights(pass.weight_gradient, shape_.filters, shape_.patch());
  Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> bias(pass.weight_gradient + shape_.filters * shape_.patch(),
                                                       shape_.bias ? shape_.filters : 0);
  const ConstView<T> patches(pass.scratch, shape_.positions(), shape_.patch());
  weights.setZero();
  bias.setZero();
  const Eigen::Index positions = shape_.positions(), bias_rows = shape_.bias ? 1 : 0;
  if (pass.tap != nullptr) {
    pass.tap->input.resize(shape_.patch() + bias_rows, pass.input.cols() * positions);
    pass.tap->input.bottomRows(bias_rows).setOnes();
    pass.tap->output_gradient.resize(shape_.filters, pass.input.cols() * positions);
  }
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    image_to_patches(shape_, pass.input.data() + s * inputs(), pass.scratch, padded(pass.scratch));
    const ConstView<T> gradient(pass.output_gradient.data() + s * outputs(), positions, shape_.filters);
    weights.noalias() += gradient.transpose() * patches;
    for (Eigen::Index f = 0; f < bias.size(); ++f) bias[f] += gradient.col(f).sum();
    if (pass.tap != nullptr) {
      pass.tap->input.block(0, s * positions, shape_.patch(), positions) = patches.transpose();
      pass.tap->output_gradient.middleCols(s * positions, positions) = gradient.transpose();
    }
  }
}

template <class T>
void Convolution<T>::backward_input(const BackwardPass<T>& pass) const {
  const ConstView<T> weights(pass.weights, shape_.filters, shape_.patch());
  View<T> patches(pass.scratch, shape_.positions(), shape_.patch());
  View<T> input_gradient = pass.input_gradient;
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const ConstView<T> gradient(pass.output_gradient.data() + s * outputs(), shape_.positions(),
                                shape_.filters);
    patches.noalias() = gradient * weights;
    patches_to_image<T>(shape_, pass.scratch, input_gradient.data() + s * inputs(), padded(pass.scratch));
  }
}

template void image_to_patches(const ConvolutionShape&, const Scalar*, Scalar*, Scalar*);
template void patches_to_image(const ConvolutionShape&, const Scalar*, Scalar*, Scalar*);
template class Convolution<Scalar>;

}  // namespace simsgd
