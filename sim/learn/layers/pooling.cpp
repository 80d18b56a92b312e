#include "sim/learn/layers/pooling.hpp"

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

// Calls row(input, output, blocks) for every row of blocks of every plane of `samples` images: where the two
// begin, and how many blocks it has.
template <class Row>
void for_each_row_of_blocks(const PoolShape& shape, std::int64_t samples, Row row) {
  const std::int64_t rows = shape.out_height(), blocks = shape.out_width();
  for (std::int64_t plane = 0; plane < samples * shape.channels; ++plane)
    for (std::int64_t y = 0; y < rows; ++y)
      row((plane * shape.height + y * shape.window) * shape.width, (plane * rows + y) * blocks, blocks);
}

// Of blocks of 2 x 2, without branches, so that it becomes vector instructions: `best` of the first one, two,
// three entries.
template <class T>
void pool_pairs(const T* upper, const T* lower, std::int64_t blocks, T* output) {
  for (std::int64_t x = 0; x < blocks; ++x) {
    T best = upper[2 * x + 1] > upper[2 * x] ? upper[2 * x + 1] : upper[2 * x];
    best = lower[2 * x] > best ? lower[2 * x] : best;
    output[x] = lower[2 * x + 1] > best ? lower[2 * x + 1] : best;
  }
}
template <class T>
void pool_pairs_back(const T* upper, const T* lower, std::int64_t blocks, const T* __restrict arriving,
                     T* __restrict upper_gradient, T* __restrict lower_gradient) {
  for (std::int64_t x = 0; x < blocks; ++x) {
    const T first = upper[2 * x], second = upper[2 * x + 1], third = lower[2 * x], fourth = lower[2 * x + 1];
    const T best_of_two = second > first ? second : first;
    const T best_of_three = third > best_of_two ? third : best_of_two;
    const T to_three = fourth > best_of_three ? T(0) : arriving[x];
    const T to_two = third > best_of_two ? T(0) : to_three;
    upper_gradient[2 * x] = second > first ? T(0) : to_two;
    upper_gradient[2 * x + 1] = second > first ? to_two : T(0);
    lower_gradient[2 * x] = third > best_of_two ? to_three : T(0);
    lower_gradient[2 * x + 1] = fourth > best_of_three ? arriving[x] : T(0);
  }
}

}  // namespace

template <class T>
void MaxPool<T>::forward(const ForwardPass<T>& pass) const {
  const std::int64_t width = shape_.width, window = shape_.window;
  for_each_row_of_blocks(shape_, pass.input.cols(),
                         [&](std::int64_t in, std::int64_t out, std::int64_t blocks) {
                           const T* input = pass.input.data() + in;
                           T* output = View<T>(pass.output).data() + out;
                           if (window == 2) return pool_pairs(input, input + width, blocks, output);
                           for (std::int64_t x = 0; x < blocks; ++x)
                             output[x] = *largest(input + x * window, window, width);
                         });
}

template <class T>
void MaxPool<T>::backward(const BackwardPass<T>& pass) const {
  if (pass.input_gradient.data() == nullptr) return;
  const std::int64_t width = shape_.width, window = shape_.window;
  View<T> all = pass.input_gradient;
  const bool all_written = window == 2 && width % 2 == 0 && shape_.height % 2 == 0;
  if (!all_written) all.setZero();
  for_each_row_of_blocks(
      shape_, pass.input.cols(), [&](std::int64_t in, std::int64_t out, std::int64_t blocks) {
        const T* input = pass.input.data() + in;
        const T* arriving = pass.output_gradient.data() + out;
        T* gradient = all.data() + in;
        if (window == 2)
          return pool_pairs_back(input, input + width, blocks, arriving, gradient, gradient + width);
        for (std::int64_t x = 0; x < blocks; ++x)
          gradient[largest(input + x * window, window, width) - input] += arriving[x];
      });
}

template class MaxPool<Scalar>;

template <class T>
void MeanPool<T>::forward(const ForwardPass<T>& pass) const {
  const ConstView<T> planes(pass.input.data(), positions_, channels_ * pass.input.cols());
  View<T> output = pass.output;
  Eigen::Map<Eigen::Matrix<T, 1, Eigen::Dynamic>>(output.data(), output.size()) = planes.colwise().mean();
}

template <class T>
void MeanPool<T>::backward(const BackwardPass<T>& pass) const {
  View<T> planes(View<T>(pass.input_gradient).data(), positions_, channels_ * pass.input.cols());
  const T share = T(1) / static_cast<T>(positions_);
  for (Eigen::Index p = 0; p < planes.cols(); ++p)
    planes.col(p).setConstant(share * pass.output_gradient.data()[p]);
}

template class MeanPool<Scalar>;

}  // namespace simsgd
