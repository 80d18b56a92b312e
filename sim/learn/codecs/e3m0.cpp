// e3m0: 4 bits a number: a sign and a power of two, as low-communication methods send them. Code 0 is 0,
// codes 1 to 7 are 2^(E - 6) ... 2^E with the exponent E of a block, 8 bits:
//   2^E is the power of two nearest to max |x|;  every x goes to the nearest value, ties to the even code
// Douillard et al., 2025, arXiv:2501.18512, section 2.3.
// assumed: a shared exponent for each 256 numbers (as OCP's microscaling formats share one of 8 bits for each
// 32); the paper does not say what scales its numbers.
// A message: 4 n + 8 ceil(n / block) bits.

#include "sim/learn/codec.hpp"
#include "sim/learn/codecs/blocks.hpp"

namespace simsgd::codecs {

namespace {

struct E3m0Options {
  std::int64_t block = 256;

  void fields(Fields& f) { f.whole("block", block, "This many numbers share an exponent").at_least(1); }
};

/// Of x > 0: the exponent of the nearest power of two; at 1.5 times one of even code `even + 2 j` that one.
int nearest_exponent(float x, int even) {
  int exponent = 0;
  const float mantissa = 2 * std::frexp(x, &exponent);  // in [1, 2)
  --exponent;
  const bool tie_goes_up = (exponent - even) % 2 != 0;
  return mantissa > 1.5F || (mantissa == 1.5F && tie_goes_up) ? exponent + 1 : exponent;
}

float nearest_e3m0(float x, int top) {
  const float magnitude = std::fabs(x);
  const float least = std::ldexp(1.0F, top - 6);
  if (magnitude <= least / 2) return 0;  // the tie at half the least is code 0's
  const int exponent = std::clamp(nearest_exponent(magnitude, top + 1), top - 6, top);  // code 7 is odd
  return std::copysign(std::ldexp(1.0F, exponent), x);
}

class E3m0 final : public Codec {
 public:
  explicit E3m0(const E3m0Options& options) : options_(options) {}
  double bits(double numbers) const override { return 4 * numbers + 8 * blocks_of(numbers, options_.block); }
  void transmit(std::span<const float> values, Stream, std::span<float> received) const override {
    for_each_block(static_cast<std::size_t>(options_.block), values, received, [](auto from, auto to) {
      const float largest = largest_magnitude(from);
      const bool usual = largest > 0 && std::isfinite(largest);
      const int top = usual ? nearest_exponent(largest, 0) : 0;
      for (std::size_t i = 0; i < from.size(); ++i)
        to[i] = usual && !std::isnan(from[i]) ? nearest_e3m0(from[i], top) : from[i];
    });
  }

 private:
  E3m0Options options_;
};

}  // namespace

std::vector<CodecPlugin> e3m0() {
  return {{{.name = "e3m0",
            .summary = "4 bits a number: a sign and a power of two below the block's largest",
            .citation = "Douillard et al., 2025, arXiv:2501.18512"},
           +[](const E3m0Options& options) -> MadeCodec { return std::make_shared<const E3m0>(options); }}};
}

}  // namespace simsgd::codecs
