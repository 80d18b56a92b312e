// The mean over workers of vectors that travel by a codec (sim/learn/codec.hpp), for any method, with what it
// takes: encoding on the device, messages, decoding. Messages that keep all numbers are summed on the way (an
// all-reduce of the codec's bits for each number, whose sums are not rounded again; encoding and decoding on
// the way count as part of the host's reduction). Sparse ones are gathered and added everywhere.
#pragma once

#include "algorithms/plugin.hpp"
#include "sim/roles/message_coder.hpp"

namespace simsgd {

/// What the device does not know of a codec's kernels, for messages as long as the model.
void note_codec(const AlgorithmContext& context, const Codec& codec);

class CodedMean {
 public:
  /// `codec`: a scenario's object that names one. Throws ParameterError with pointers below "/codec".
  CodedMean(const Json& codec, const AlgorithmContext& context);

  struct Result {
    Tensor mean;
    Tensor sent;  ///< what others get of this worker's vector
  };
  /// Blocks. All workers call it in the same step; `values` is as long as the model, empty without a learner.
  Result run(Worker& worker, const Tensor& values, Traffic traffic) const;

  double message_bytes() const { return bytes_; }  ///< of one worker
  const MadeCodec& codec() const { return codec_; }

 private:
  MadeCodec codec_;
  double bytes_ = 0;
  CodecTimes times_;  // of a whole message
};

/// A vector plus what the last message of it lacked (error feedback); `error` may be empty.
Tensor with_error(Executor& executor, const Tensor& values, const Tensor& error, double kept = 1);

}  // namespace simsgd
