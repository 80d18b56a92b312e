#include "sim/learn/layers/shortcut.hpp"

namespace simsgd {

namespace {

// Calls row(inside, outside) for every row of the output that has pixels: where its first one is read and
// written.
template <class Row>
void for_each_short_row(const Shortcut& way, Eigen::Index samples, Row row) {
  for (Eigen::Index s = 0; s < samples; ++s)
    for (std::int64_t c = 0; c < way.channels; ++c)
      for (std::int64_t y = 0; y < way.out_height(); ++y)
        row(s * way.inputs() + (c * way.height + y * way.stride) * way.width,
            s * way.outputs() + (c * way.out_height() + y) * way.out_width());
}

}  // namespace

template <class T>
void Shortcut::add(ConstView<T> input, View<T> output) const {
  for_each_short_row(*this, input.cols(), [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t x = 0; x < out_width(); ++x) output.data()[to + x] += input.data()[from + x * stride];
  });
}

template <class T>
void Shortcut::add_back(ConstView<T> output_gradient, View<T> input_gradient) const {
  for_each_short_row(*this, input_gradient.cols(), [&](std::int64_t to, std::int64_t from) {
    for (std::int64_t x = 0; x < out_width(); ++x)
      input_gradient.data()[to + x * stride] += output_gradient.data()[from + x];
  });
}

template void Shortcut::add(ConstView<Scalar>, View<Scalar>) const;
template void Shortcut::add_back(ConstView<Scalar>, View<Scalar>) const;

}  // namespace simsgd
