// qsgd: random rounding to s levels of the length of a bucket, which keeps every number right in the mean.
//   received |v|_2 sign(v_i) l / s,  l = floor(s |v_i| / |v|_2), one more with what is left as probability
// Alistarh, Grubic, Li, Tomioka, Vojnovic, NeurIPS 2017, arXiv:1610.02132, section 3.1; buckets: section 4. A
// message: ceil(log2(2 s + 1)) n + 32 ceil(n / bucket) bits, of fixed length (the paper's Elias code is
// shorter where most levels are 0).
#include "sim/learn/codec.hpp"
#include "sim/learn/codecs/blocks.hpp"

namespace simsgd::codecs {

namespace {

struct QsgdOptions {
  int levels = 7;
  std::int64_t bucket = 512;

  void fields(Fields& f) {
    f.whole("levels", levels, "s: levels above 0; with 7 a number takes 4 bits, sign included")
        .at_least(1)
        .at_most(32767);
    f.whole("bucket", bucket, "This many numbers make a bucket and share one norm").at_least(1);
  }
};

class Qsgd final : public Codec {
 public:
  explicit Qsgd(const QsgdOptions& options) : options_(options) {}
  double bits(double numbers) const override {
    const auto each = static_cast<double>(std::bit_width(static_cast<unsigned>(2 * options_.levels)));
    return each * numbers + 32 * blocks_of(numbers, options_.bucket);
  }
  void transmit(std::span<const float> values, Stream draws, std::span<float> received) const override {
    const double levels = options_.levels;
    for_each_block(static_cast<std::size_t>(options_.bucket), values, received, [&](auto from, auto to) {
      double squares = 0;
      for (const float x : from) squares += static_cast<double>(x) * static_cast<double>(x);
      const double length = std::sqrt(squares);
      for (std::size_t i = 0; i < from.size(); ++i) {
        const double draw = draws.uniform();
        if (!(length > 0) || !std::isfinite(length)) {
          to[i] = from[i];
          continue;
        }
        const double level = std::floor(levels * std::fabs(static_cast<double>(from[i])) / length + draw);
        to[i] = static_cast<float>(std::copysign(length * level / levels, static_cast<double>(from[i])));
      }
    });
  }

 private:
  QsgdOptions options_;
};

}  // namespace

std::vector<CodecPlugin> qsgd() {
  return {{{.name = "qsgd",
            .summary = "Random, unbiased rounding to a few levels of each bucket's norm",
            .citation = "Alistarh et al., NeurIPS 2017, arXiv:1610.02132"},
           +[](const QsgdOptions& options) -> MadeCodec { return std::make_shared<const Qsgd>(options); }}};
}

}  // namespace simsgd::codecs
