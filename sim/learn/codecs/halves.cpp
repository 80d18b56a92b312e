// fp16, bf16: every number rounded to a format of 16 bits (../precision.hpp); no scale, no error feedback
// needed where gradients are in range.
#include "sim/learn/codec.hpp"
#include "sim/learn/precision.hpp"

namespace simsgd::codecs {

namespace {

class Half final : public Codec {
 public:
  explicit Half(float (*round)(float)) : round_(round) {}
  double bits(double numbers) const override { return 16 * numbers; }
  void transmit(std::span<const float> values, Stream, std::span<float> received) const override {
    for (std::size_t i = 0; i < values.size(); ++i) received[i] = round_(values[i]);
  }

 private:
  float (*round_)(float);
};

}  // namespace

std::vector<CodecPlugin> halves() {
  return {{{.name = "fp16", .summary = "IEEE 754 binary16, to nearest", .citation = ""},
           +[](const NoOptions&) -> MadeCodec { return std::make_shared<const Half>(nearest_fp16); }},
          {{.name = "bf16",
            .summary = "The upper half of a float32, to nearest",
            .citation = "Kalamkar et al., 2019, arXiv:1905.12322"},
           +[](const NoOptions&) -> MadeCodec { return std::make_shared<const Half>(nearest_bf16); }}};
}

}  // namespace simsgd::codecs
