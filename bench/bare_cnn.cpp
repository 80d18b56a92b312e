// The model cnn with its defaults as one would write it in plain Eigen: sample by sample, a column of patches
// for each entry of the kernel, a product with the weights, maxima of four strided planes.
#include <algorithm>

#include "bench/bare_training.hpp"
#include "sim/learn/model.hpp"

namespace simsgd::bench {

namespace {

using namespace Eigen;

constexpr Index kKernel = 3, kFilters[] = {8, 16};

struct Level {
  Index channels, side, filters;
  Index pixels() const { return side * side; }
  Index patch() const { return channels * kKernel * kKernel; }
  Index parameters() const { return filters * (patch() + 1); }
};

// Calls entry(plane, image) for every entry of the kernel: the part of a column of patches that lies in the
// image, and where it comes from. `images`: a column for each channel.
template <class Image, class Entry>
void for_each_entry(const Level& level, MatrixXf& patches, Image& images, Entry entry) {
  const Index side = level.side;
  for (Index k = 0; k < level.patch(); ++k) {
    const Index dx = k % kKernel - 1, dy = k / kKernel % kKernel - 1;
    const Index columns = side - std::abs(dx), rows = side - std::abs(dy);
    Map<MatrixXf> plane(patches.col(k).data(), side, side);
    auto image = images.col(k / (kKernel * kKernel)).reshaped(side, side);
    entry(plane.block(std::max<Index>(0, -dx), std::max<Index>(0, -dy), columns, rows),
          image.block(std::max<Index>(0, dx), std::max<Index>(0, dy), columns, rows));
  }
}

// Every second pixel of a plane, from one of four on.
auto quarter(float* plane, Index side, int which) {
  using Strides = Stride<Dynamic, 2>;
  return Map<ArrayXXf, 0, Strides>(plane + which / 2 * side + which % 2, side / 2, side / 2,
                                   Strides(2 * side, 2));
}

struct Pass {
  MatrixXf outputs, pooled;  // images below each other, a column for each sample
};

void forward(const Level& level, const float* parameters, const MatrixXf& images, Pass& pass) {
  const Map<const MatrixXf> weights(parameters, level.filters, level.patch());
  const Map<const RowVectorXf> biases(parameters + weights.size(), level.filters);
  pass.outputs.resize(level.pixels() * level.filters, images.cols());
  pass.pooled.resize(pass.outputs.rows() / 4, images.cols());
  MatrixXf patches = MatrixXf::Zero(level.pixels(), level.patch());
  for (Index s = 0; s < images.cols(); ++s) {
    const Map<const MatrixXf> image(images.col(s).data(), level.pixels(), level.channels);
    for_each_entry(level, patches, image, [](auto to, auto from) { to = from; });
    Map<MatrixXf> output(pass.outputs.col(s).data(), level.pixels(), level.filters);
    output.noalias() = patches * weights.transpose();
    output = (output.rowwise() + biases).cwiseMax(0.0F);
    for (Index f = 0; f < level.filters; ++f) {
      const auto part = [&](int which) { return quarter(output.col(f).data(), level.side, which); };
      Map<ArrayXXf>(pass.pooled.col(s).data() + f * level.pixels() / 4, level.side / 2, level.side / 2) =
          part(0).max(part(1)).max(part(2).max(part(3)));
    }
  }
}

// `arriving`: of the pooled outputs. The images' gradient, where there is a layer before.
MatrixXf backward(const Level& level, const float* parameters, const MatrixXf& images,
                  const MatrixXf& arriving, Pass& pass, float* gradient) {
  const Map<const MatrixXf> weights(parameters, level.filters, level.patch());
  Map<MatrixXf> change_of_weights(gradient, level.filters, level.patch());
  Map<VectorXf> change_of_biases(gradient + weights.size(), level.filters);
  change_of_weights.setZero(), change_of_biases.setZero();
  MatrixXf before = MatrixXf::Zero(images.rows(), level.channels > 1 ? images.cols() : 0);
  MatrixXf patches = MatrixXf::Zero(level.pixels(), level.patch()), change(level.pixels(), level.filters);
  const Index half = level.side / 2;
  for (Index s = 0; s < images.cols(); ++s) {
    for (Index f = 0; f < level.filters; ++f) {
      const Map<const ArrayXXf> best(pass.pooled.col(s).data() + f * half * half, half, half);
      ArrayXXf left = (best > 0).cast<float>();  // what no pixel has taken yet
      left *= Map<const ArrayXXf>(arriving.col(s).data() + f * half * half, half, half);
      for (const int which : {0, 1, 2, 3}) {
        auto to = quarter(change.col(f).data(), level.side, which);
        const auto output = quarter(pass.outputs.col(s).data() + f * level.pixels(), level.side, which);
        to = left * (output == best).cast<float>();
        left -= to;
      }
    }
    const Map<const MatrixXf> image(images.col(s).data(), level.pixels(), level.channels);
    for_each_entry(level, patches, image, [](auto to, auto from) { to = from; });
    change_of_weights.noalias() += change.transpose() * patches;
    change_of_biases += change.colwise().sum().transpose();
    if (before.size() == 0) continue;
    MatrixXf back = change * weights;
    Map<MatrixXf> image_before(before.col(s).data(), level.pixels(), level.channels);
    for_each_entry(level, back, image_before, [](auto from, auto to) { to += from; });
  }
  return before;
}

}  // namespace

BareNetwork bare_cnn(const DataSet& data) {
  const Level one{1, data.height, kFilters[0]}, two{kFilters[0], data.height / 2, kFilters[1]};
  return [one, two](const VectorXf& parameters, const DataSet& of, const std::vector<std::int32_t>& samples,
                    BareGradient& gradient) {
    const float* const weights2 = parameters.data() + one.parameters();
    const float* const weights3 = weights2 + two.parameters();
    const MatrixXf images = bare_images(of, samples);
    Pass first, second;
    forward(one, parameters.data(), images, first);
    forward(two, weights2, first.pooled, second);
    const Map<const MatrixXf> weights(weights3, of.classes, second.pooled.rows());
    MatrixXf outputs = weights * second.pooled;
    outputs.colwise() += Map<const VectorXf>(weights3 + weights.size(), of.classes);
    gradient.loss = bare_cross_entropy(of, samples, outputs);
    gradient.values.resize(parameters.size());
    float* const to = gradient.values.data() + one.parameters();
    Map<MatrixXf>(to + two.parameters(), of.classes, weights.cols()).noalias() =
        outputs * second.pooled.transpose();
    Map<VectorXf>(to + two.parameters() + weights.size(), of.classes) = outputs.rowwise().sum();
    const MatrixXf middle = backward(two, weights2, first.pooled, weights.transpose() * outputs, second, to);
    backward(one, parameters.data(), images, middle, first, gradient.values.data());
  };
}

}  // namespace simsgd::bench
