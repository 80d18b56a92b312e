// dct_topk: chunks through a discrete cosine transform, of which the k largest coefficients travel.
//   c_j = sqrt(w_j / n) sum_i x_i cos(pi (i + 1/2) j / n),  w_0 = 1, w_j = 2 (DCT-II, orthonormal); the
//   receiver transforms back, so that what it gets is the part of x along k of n cosines a chunk: k
//   (ceil(log2 chunk) + 32) bits
// Peng, Quesnelle, Kingma, "DeMo", 2024, arXiv:2411.19870. A chunk here is of numbers that follow one another
// in the model; the paper transforms blocks of 64 x 64 of a matrix in both directions.
#include <Eigen/Core>
#include <numbers>

#include "sim/learn/codec.hpp"
#include "sim/learn/codecs/blocks.hpp"

namespace simsgd::codecs {

namespace {

struct DctTopkOptions {
  std::int64_t chunk = 64, k = 4;

  void fields(Fields& f) {
    f.whole("chunk", chunk, "This many numbers are transformed together").at_least(2).at_most(1024);
    f.whole("k", k, "k: coefficients of a chunk that are sent").at_least(1);
  }
};

/// Row j: cosine j.
Eigen::MatrixXf cosines(Eigen::Index n) {
  Eigen::MatrixXf basis(n, n);
  const auto size = static_cast<double>(n);
  for (Eigen::Index j = 0; j < n; ++j)
    for (Eigen::Index i = 0; i < n; ++i)
      basis(j, i) = static_cast<float>(
          std::sqrt((j == 0 ? 1 : 2) / size) *
          std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(j) / size));
  return basis;
}

class DctTopk final : public Codec {
 public:
  explicit DctTopk(const DctTopkOptions& options) : options_(options), basis_(cosines(options.chunk)) {}
  double bits(double numbers) const override {
    return chosen_of(numbers, options_.chunk, options_.k) * (index_bits(options_.chunk) + 32);
  }
  CodecKernels kernels(double numbers) const override {
    return {.chosen = chosen_of(numbers, options_.chunk, options_.k),
            .chunk = static_cast<double>(options_.chunk)};
  }
  void transmit(std::span<const float> values, Stream, std::span<float> received) const override {
    for_each_block(static_cast<std::size_t>(options_.chunk), values, received, [this](auto from, auto to) {
      const auto n = static_cast<Eigen::Index>(from.size());
      if (n == options_.chunk)
        transform(basis_, from, to);
      else
        transform(cosines(n), from, to);
    });
  }

 private:
  void transform(const Eigen::MatrixXf& basis, std::span<const float> from, std::span<float> to) const {
    const auto n = static_cast<Eigen::Index>(from.size());
    const Eigen::VectorXf coefficients = basis * Eigen::Map<const Eigen::VectorXf>(from.data(), n);
    Eigen::Map<Eigen::VectorXf> sum(to.data(), n);
    sum.setZero();
    for (const std::uint32_t j :
         largest_places({coefficients.data(), from.size()}, static_cast<std::size_t>(options_.k)))
      sum += coefficients[j] * basis.row(j).transpose();
  }

  DctTopkOptions options_;
  Eigen::MatrixXf basis_;
};

MadeCodec make_dct_topk(const DctTopkOptions& options) {
  if (options.k > options.chunk)
    reject("k", "is more than \"chunk\", the coefficients of a chunk", "Use at most \"chunk\"");
  return std::make_shared<const DctTopk>(options);
}

}  // namespace

std::vector<CodecPlugin> dct_topk() {
  return {{{.name = "dct_topk",
            .summary = "The k largest coefficients of a cosine transform of every chunk",
            .citation = "Peng, Quesnelle, Kingma, 2024, arXiv:2411.19870"},
           make_dct_topk}};
}

}  // namespace simsgd::codecs
