// Random numbers are counter-based (Philox4x32-10, Salmon et al., SC'11, from Random123): a stream is a pure
// function of (seed, purpose, entity, step). Two algorithms therefore see the same stragglers and the same
// batches, a new consumer never shifts another's draws, and nothing depends on the order in which events are
// simulated.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstdint>

namespace simsgd {

/// What a stream is drawn for. Values are part of every result: never renumber, only append.
enum class Purpose : std::uint32_t {
  initial_model = 1,
  data_order = 2,
  partition = 3,
  data_set = 4,
  straggler = 5,
  compute_time = 6,
  link_jitter = 7,
  algorithm = 8,
  placement = 9,
  resampling = 10,
  graph = 11,   // a random logical graph
  gossip = 12,  // which edges a round uses: the same for all workers
  failure = 13,
  routing = 14,     // which of several equal paths a pair of endpoints takes
  study_draw = 15,  // points of a study: entity is the dimension, step the draw
  coding = 16,      // codecs of messages: entity is the rank, step counts its messages
};

struct StreamKey {
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::algorithm;
  std::uint32_t entity = 0;  ///< rank, layer, or index of the plug-in
  std::uint64_t step = 0;    ///< below 2^40
};

/// An endless sequence of random numbers. Copies continue independently from the same place.
class Stream {
 public:
  using result_type = std::uint32_t;

  explicit Stream(const StreamKey& key);

  /// 32 random bits (UniformRandomBitGenerator).
  result_type operator()() {
    if (used_ == block_.size()) refill();
    return block_[used_++];
  }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return ~result_type{0}; }

  /// Uniform on the open interval (0, 1), 52 bits: never 0, so that it may be put into a logarithm or a
  /// quantile.
  double uniform();
  /// Uniform on {0, ..., n - 1}, without bias; n > 0.
  std::uint32_t below(std::uint32_t n);
  /// Standard normal (Box-Muller).
  double normal();

 private:
  void refill();

  r123::Philox4x32::ctr_type counter_;
  r123::Philox4x32::key_type key_;
  std::array<result_type, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace simsgd
