// sign: the sign of every number, times the mean magnitude of its block: received (|v|_1 / n) sign(v_i).
// Bernstein et al., ICML 2018, arXiv:1802.04434 (signs); Karimireddy et al., ICML 2019, arXiv:1901.09847 (the
// scale, and why it needs error feedback). 0 counts as positive. A message: n + 32 ceil(n / block) bits.
#include "sim/learn/codec.hpp"
#include "sim/learn/codecs/blocks.hpp"

namespace simsgd::codecs {

namespace {

struct SignOptions {
  std::int64_t block = 4096;

  void fields(Fields& f) { f.whole("block", block, "This many numbers share a magnitude").at_least(1); }
};

class Sign final : public Codec {
 public:
  explicit Sign(const SignOptions& options) : options_(options) {}
  double bits(double numbers) const override { return numbers + 32 * blocks_of(numbers, options_.block); }
  void transmit(std::span<const float> values, Stream, std::span<float> received) const override {
    for_each_block(static_cast<std::size_t>(options_.block), values, received, [](auto from, auto to) {
      double sum = 0;
      for (const float x : from) sum += std::fabs(static_cast<double>(x));
      const auto mean = static_cast<float>(sum / static_cast<double>(from.size()));
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] < 0 ? -mean : mean;
    });
  }

 private:
  SignOptions options_;
};

}  // namespace

std::vector<CodecPlugin> sign() {
  return {{{.name = "sign",
            .summary = "The sign of every number, times its block's mean magnitude",
            .citation = "Karimireddy et al., ICML 2019, arXiv:1901.09847"},
           +[](const SignOptions& options) -> MadeCodec { return std::make_shared<const Sign>(options); }}};
}

}  // namespace simsgd::codecs
