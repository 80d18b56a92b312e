#include "sim/learn/layers/max_pool.hpp"

namespace simsgd {

namespace {

// The first largest entry of the block whose upper left corner is `corner`.
template <class T>
const T* largest(const T* corner, std::int64_t window, std::int64_t width) {
  const T* best = corner;
  for (std::int64_t y = 0; y < window; ++y)
    for (std::int64_t x = 0; x < window; ++x)
      if (const T* here = corner + y * width + x; *here > *best) best = here;
  return best;
}

// Calls block(corner, output) for every block of every plane of `samples` images: offsets into input and
// output.
template <class Block>
void for_each_block(const PoolShape& shape, std::int64_t samples, Block block) {
  std::int64_t output = 0;
  for (std::int64_t plane = 0; plane < samples * shape.channels; ++plane)
    for (std::int64_t y = 0; y < shape.out_height(); ++y)
      for (std::int64_t x = 0; x < shape.out_width(); ++x)
        block((plane * shape.height + y * shape.window) * shape.width + x * shape.window, output++);
}

}  // namespace

template <class T>
void MaxPool<T>::forward(const ForwardPass<T>& pass) const {
  const T* input = pass.input.data();
  T* output = View<T>(pass.output).data();
  for_each_block(shape_, pass.input.cols(), [&](std::int64_t corner, std::int64_t at) {
    output[at] = *largest(input + corner, shape_.window, shape_.width);
  });
}

template <class T>
void MaxPool<T>::backward(const BackwardPass<T>& pass) const {
  if (pass.input_gradient.data() == nullptr) return;
  const T* input = pass.input.data();
  const T* output_gradient = pass.output_gradient.data();
  View<T> input_gradient = pass.input_gradient;
  input_gradient.setZero();
  for_each_block(shape_, pass.input.cols(), [&](std::int64_t corner, std::int64_t at) {
    const T* winner = largest(input + corner, shape_.window, shape_.width);
    input_gradient.data()[winner - input] += output_gradient[at];
  });
}

template class MaxPool<float>;
template class MaxPool<double>;

}  // namespace simsgd
