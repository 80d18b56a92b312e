// Codecs: how a worker's numbers travel in fewer bits, and what the receiver makes of them. One codec is one
// file under codecs/, listed in CMakeLists.txt; the messages of any method may travel by any of them
// (sim/roles/message_coder.hpp). A codec loses something: error feedback adds what was lost to the next
// message of the same worker,
//   e <- 0;  each time: p = x + beta e;  c = C(p);  e <- p - c
// Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019, arXiv:1901.09847, Algorithm 2.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/learn/tensor.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What encoding a message takes on a device, as kernels (sim/cluster/kernels.hpp).
struct CodecKernels {
  double chosen = 0;  ///< so many of the numbers are selected by magnitude; 0: all travel
  double chunk = 0;   ///< numbers are transformed before, in chunks of so many; 0: they are not
};

class Codec {
 public:
  virtual ~Codec() = default;
  /// Of a whole message of so many numbers, with its scales and indices.
  virtual double bits(double numbers) const = 0;
  virtual CodecKernels kernels(double /*numbers*/) const { return {}; }
  /// Whether a message is of few of its numbers, so that messages are gathered; others are summed on the way,
  /// decoded and encoded again at every hop.
  bool sparse() const { return kernels(1e6).chosen > 0; }
  /// What the receiver gets of `values`, as many numbers. `draws`: for codecs that round at random.
  virtual void transmit(std::span<const float> values, Stream draws, std::span<float> received) const = 0;
};

using MadeCodec = std::shared_ptr<const Codec>;  // shared with the numeric plane's work

/// How gradients and models travel.
struct Coding {
  MadeCodec codec;      ///< null: as they are
  double feedback = 1;  ///< beta: share of what a message lacks that the next one takes along; 0: none
};

/// What the receiver gets of a dense tensor. Empty for an empty handle.
Tensor transmitted(Executor& executor, const MadeCodec& codec, const Tensor& values, const Stream& draws);

using CodecPlugin = Plugin<MadeCodec>;

// The table of codecs. To add one: write codecs/NAME.cpp with a function `std::vector<CodecPlugin> NAME()` in
// simsgd::codecs, and add one line to the list in ../CMakeLists.txt.

const std::vector<CodecPlugin>& codec_plugins();

/// The one that a scenario's object names. Throws ParameterError with keys below "/codec".
MadeCodec make_codec(const Json& object);

}  // namespace simsgd
