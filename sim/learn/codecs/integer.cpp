// integer: whole numbers of b bits with a scale for each block, as block-wise int8.
//   s = max |x| / (2^(b-1) - 1) of the block, 32 bits;  q = round(x / s), ties to even;  received s q
// Dettmers et al., ICLR 2022, arXiv:2110.02861 (block-wise; blocks of 2048 there, levels spaced otherwise).
// A message: b n + 32 ceil(n / block) bits.
#include "sim/learn/codec.hpp"
#include "sim/learn/codecs/blocks.hpp"

namespace simsgd::codecs {

namespace {

struct IntegerOptions {
  int bits = 8;
  std::int64_t block = 2048;

  void fields(Fields& f) {
    f.whole("bits", bits, "A number takes this many bits").at_least(2).at_most(16);
    f.whole("block", block, "This many numbers share a scale").at_least(1);
  }
};

class Integer final : public Codec {
 public:
  explicit Integer(const IntegerOptions& options) : options_(options) {}
  double bits(double numbers) const override {
    return options_.bits * numbers + 32 * blocks_of(numbers, options_.block);
  }
  void transmit(std::span<const float> values, Stream, std::span<float> received) const override {
    const auto levels = static_cast<float>((1 << (options_.bits - 1)) - 1);
    for_each_block(static_cast<std::size_t>(options_.block), values, received, [levels](auto from, auto to) {
      const float scale = largest_magnitude(from) / levels;
      for (std::size_t i = 0; i < from.size(); ++i)
        to[i] = scale > 0 ? scale * std::nearbyint(from[i] / scale) : from[i];
    });
  }

 private:
  IntegerOptions options_;
};

}  // namespace

std::vector<CodecPlugin> integer() {
  return {
      {{.name = "integer",
        .summary = "Whole numbers of few bits with a scale for each block, as block-wise int8",
        .citation = "Dettmers et al., ICLR 2022, arXiv:2110.02861"},
       +[](const IntegerOptions& options) -> MadeCodec { return std::make_shared<const Integer>(options); }}};
}

}  // namespace simsgd::codecs
