#include "sim/learn/layers/convolution.hpp"
#include "sim/learn/model.hpp"

#include <algorithm>

namespace simsgd {

namespace {

// Calls row(k, p, pixel, begin, end, inside) for every kernel entry k and every row of the output, which
// starts at position p: outputs [begin, end) of the row read pixels pixel, pixel + stride, ... of the image,
// and the others lie in the padding.
template <class Row>
void for_each_row(const ConvolutionShape& shape, Row row) {
  const std::int64_t out_width = shape.out_width();
  std::int64_t k = 0;
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::int64_t ky = 0; ky < shape.kernel; ++ky)
      for (std::int64_t kx = 0; kx < shape.kernel; ++kx, ++k) {
        // Output ox reads column ox * stride + kx - padding: inside for begin <= ox < end.
        const std::int64_t first = kx - shape.padding;
        const std::int64_t begin =
            std::min(out_width, std::max<std::int64_t>(0, (-first + shape.stride - 1) / shape.stride));
        const std::int64_t last = shape.width - 1 - first;
        const std::int64_t end =
            last < 0 ? begin : std::max(begin, std::min(out_width, last / shape.stride + 1));
        for (std::int64_t oy = 0; oy < shape.out_height(); ++oy) {
          const std::int64_t y = oy * shape.stride + ky - shape.padding;
          const bool inside = y >= 0 && y < shape.height && begin < end;
          const std::int64_t pixel =
              inside ? (c * shape.height + y) * shape.width + begin * shape.stride + first : 0;
          row(k * shape.positions() + oy * out_width, pixel, begin, inside ? end : begin);
        }
      }
}

}  // namespace

template <class T>
void image_to_patches(const ConvolutionShape& shape, const T* image, T* patches) {
  const std::int64_t out_width = shape.out_width();
  const std::int64_t stride = shape.stride;
  for_each_row(shape, [&](std::int64_t at, std::int64_t pixel, std::int64_t begin, std::int64_t end) {
    T* to = patches + at;
    std::fill(to, to + begin, T(0));
    if (stride == 1)
      std::copy(image + pixel, image + pixel + (end - begin), to + begin);
    else
      for (std::int64_t i = begin; i < end; ++i) to[i] = image[pixel + (i - begin) * stride];
    std::fill(to + end, to + out_width, T(0));
  });
}

template <class T>
void add_patches_to_image(const ConvolutionShape& shape, const T* patches, T* image) {
  const std::int64_t stride = shape.stride;
  for_each_row(shape, [&](std::int64_t at, std::int64_t pixel, std::int64_t begin, std::int64_t end) {
    const T* from = patches + at;
    if (stride == 1)
      for (std::int64_t i = begin; i < end; ++i) image[pixel + i - begin] += from[i];
    else
      for (std::int64_t i = begin; i < end; ++i) image[pixel + (i - begin) * stride] += from[i];
  });
}

template <class T>
std::optional<LayerInfo> Convolution<T>::weights() const {
  LayerInfo info;
  info.name = shape_.name;
  info.kind = LayerInfo::Kind::convolution;
  info.rows = shape_.filters;
  info.columns = shape_.patch();
  info.bias = true;
  info.positions = shape_.positions();
  info.forward_flop = 2.0 * static_cast<double>(shape_.filters * shape_.patch() * shape_.positions());
  info.activations = outputs();
  return info;
}

template <class T>
void Convolution<T>::initialise(Stream& stream, std::span<T> weights) const {
  initialise_uniform(stream, shape_.patch(), weights);
}

template <class T>
void Convolution<T>::forward(const ForwardPass<T>& pass) const {
  const ConstView<T> weights(pass.weights, shape_.filters, shape_.patch());
  const T* bias = pass.weights + shape_.filters * shape_.patch();
  const ConstView<T> patches(pass.scratch, shape_.positions(), shape_.patch());
  T* output = View<T>(pass.output).data();
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    image_to_patches(shape_, pass.input.data() + s * inputs(), pass.scratch);
    View<T> image(output + s * outputs(), shape_.positions(), shape_.filters);
    image.noalias() = patches * weights.transpose();
    for (std::int64_t f = 0; f < shape_.filters; ++f) image.col(f).array() += bias[f];
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
                                                       shape_.filters);
  const ConstView<T> patches(pass.scratch, shape_.positions(), shape_.patch());
  weights.setZero();
  bias.setZero();
  const Eigen::Index positions = shape_.positions();
  if (pass.tap != nullptr) {
    pass.tap->input.resize(shape_.patch() + 1, pass.input.cols() * positions);
    pass.tap->input.bottomRows(1).setOnes();
    pass.tap->output_gradient.resize(shape_.filters, pass.input.cols() * positions);
  }
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    image_to_patches(shape_, pass.input.data() + s * inputs(), pass.scratch);
    const ConstView<T> gradient(pass.output_gradient.data() + s * outputs(), positions, shape_.filters);
    weights.noalias() += gradient.transpose() * patches;
    for (std::int64_t f = 0; f < shape_.filters; ++f) bias[f] += gradient.col(f).sum();
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
  input_gradient.setZero();
  for (Eigen::Index s = 0; s < pass.input.cols(); ++s) {
    const ConstView<T> gradient(pass.output_gradient.data() + s * outputs(), shape_.positions(),
                                shape_.filters);
    patches.noalias() = gradient * weights;
    add_patches_to_image<T>(shape_, pass.scratch, input_gradient.data() + s * inputs());
  }
}

template void image_to_patches(const ConvolutionShape&, const float*, float*);
template void image_to_patches(const ConvolutionShape&, const double*, double*);
template void add_patches_to_image(const ConvolutionShape&, const float*, float*);
template void add_patches_to_image(const ConvolutionShape&, const double*, double*);
template class Convolution<float>;
template class Convolution<double>;

}  // namespace simsgd
