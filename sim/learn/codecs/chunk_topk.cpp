// chunk_topk: the k numbers of largest magnitude of every chunk, each with its place in the chunk, so that an
// index needs log2 of the chunk's size. With b < 32 bits a value, magnitudes of the chunk fall into 2^(b-1)
// equal bins from 0 to its largest, and come out as the mean of their bin, whose table travels along:
//   a chunk: k (ceil(log2 chunk) + b) bits, + 32 2^(b-1) where b < 32
// Sarfi et al., "SparseLoCo", 2025, arXiv:2508.15706: chunks of 4,096, 2 bits a value. Its published code
// takes bins around the mean of a whole tensor; a table for each chunk is this project's.

#include "sim/learn/codec.hpp"
#include "sim/learn/codecs/blocks.hpp"

namespace simsgd::codecs {

namespace {

struct ChunkTopkOptions {
  std::int64_t chunk = 4096, k = 64;
  int value_bits = 32;

  void fields(Fields& f) {
    f.whole("chunk", chunk, "A chunk has this many numbers, of which k are sent")
        .at_least(2)
        .at_most(1 << 24);
    f.whole("k", k, "k: numbers of a chunk that are sent").at_least(1);
    f.whole("value_bits", value_bits,
            "A value takes this many bits: 32 send it exactly, fewer send the mean of its bin")
        .at_least(1)
        .at_most(32);
  }
};

class ChunkTopk final : public Codec {
 public:
  explicit ChunkTopk(const ChunkTopkOptions& options) : options_(options) {}
  double bits(double numbers) const override {
    const double each = index_bits(options_.chunk) + options_.value_bits;
    const double table = quantises() ? 32.0 * static_cast<double>(bins()) : 0;
    return chosen_of(numbers, options_.chunk, options_.k) * each + blocks_of(numbers, options_.chunk) * table;
  }
  CodecKernels kernels(double numbers) const override {
    return {.chosen = chosen_of(numbers, options_.chunk, options_.k)};
  }
  void transmit(std::span<const float> values, Stream, std::span<float> received) const override {
    std::fill(received.begin(), received.end(), 0.0F);
    for_each_block(static_cast<std::size_t>(options_.chunk), values, received, [this](auto from, auto to) {
      const std::vector<std::uint32_t> places = largest_places(from, static_cast<std::size_t>(options_.k));
      for (const std::uint32_t place : places) to[place] = from[place];
      if (quantises()) to_bins(places, to);
    });
  }

 private:
  bool quantises() const { return options_.value_bits < 32; }
  std::size_t bins() const { return std::size_t{1} << (options_.value_bits - 1); }

  void to_bins(const std::vector<std::uint32_t>& places, std::span<float> chunk) const {
    const float largest = largest_magnitude(chunk);
    if (!(largest > 0) || !std::isfinite(largest)) return;
    const auto bin_of = [&](float x) {
      const auto bin = static_cast<std::size_t>(std::fabs(x) / largest * static_cast<float>(bins()));
      return std::min(bin, bins() - 1);
    };
    std::vector<double> sums(bins(), 0.0);
    std::vector<int> counts(bins(), 0);
    for (const std::uint32_t place : places) {
      sums[bin_of(chunk[place])] += std::fabs(static_cast<double>(chunk[place]));
      ++counts[bin_of(chunk[place])];
    }
    for (const std::uint32_t place : places) {
      const std::size_t bin = bin_of(chunk[place]);
      chunk[place] = std::copysign(static_cast<float>(sums[bin] / counts[bin]), chunk[place]);
    }
  }

  ChunkTopkOptions options_;
};

MadeCodec make_chunk_topk(const ChunkTopkOptions& options) {
  if (options.k > options.chunk)
    reject("k", "is more than \"chunk\", the numbers in a chunk", "Use at most \"chunk\"");
  if (options.value_bits > 16 && options.value_bits < 32)
    reject("value_bits", "is neither 32 nor at most 16", "Use 32, or at most 16");
  return std::make_shared<const ChunkTopk>(options);
}

}  // namespace

std::vector<CodecPlugin> chunk_topk() {
  return {{{.name = "chunk_topk",
            .summary = "The k largest numbers of every chunk, with their places, at few bits a value",
            .citation = "Sarfi et al., 2025, arXiv:2508.15706"},
           make_chunk_topk}};
}

}  // namespace simsgd::codecs
