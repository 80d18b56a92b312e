// What travels of the values of a message, whatever the method: the roles that send ask it (messages.hpp,
// collectives.hpp). With a codec (Coding, sim/learn/codec.hpp: the method's own, or network.codec) gradients
// and models take the codec's bits and arrive as it gives them; everything else is rounded to
// network.precision. With error feedback, where beta is 1 if the method does not say otherwise,
//   changes (gradients, how far a worker went):  p = v + beta e;  c = C(p);  e <- p - c;  c arrives
//   models in an all-reduce:  c = C(x - g + e);  e <- x - g + e - c;  g + c arrives;  g <- the mean that it
//   gives models in other messages:  c = C(x - h);  h <- h + c;  h arrives
// e begins as 0, g and h as the initial model, which everybody has; there is one of them for each kind of
// message (Kind, below), and receivers know g or h. Changes: Seide et al., Interspeech 2014; Karimireddy et
// al., ICML 2019, arXiv:1901.09847, Algorithm 2. In an all-reduce the same is done to the way since the last
// mean: the mean of models and errors is kept. Other models: x-hat of Koloskova, Stich, Jaggi, ICML 2019,
// arXiv:1902.00340; the own model is mixed in as it is, so the mean of models moves by what has not arrived
// yet. An all-reduce of a dense codec sends its bits at every hop, and sums are not rounded again; one of a
// sparse codec is an all-gather, added up by everybody. Encoding and decoding are kernels: of the
// worker's device where its main thread waits for the operation from the start (Collectives::run), else at
// both ends of the operation, on its own stream, as packing is. Tests: tests/algorithms/codecs.cpp.
#pragma once

#include <map>
#include <tuple>

#include "sim/job.hpp"
#include "sim/roles/compute.hpp"
#include "sim/roles/messages.hpp"

namespace simsgd {

/// Seconds on the device at its nominal speed.
struct CodecTimes {
  double transform_s = 0;             ///< of chunks, before encoding and after decoding
  double select_s = 0, encode_s = 0;  ///< a sparse codec selects, others quantise
  double decode_s = 0;
};

class MessageCoder {
 public:
  /// Of that rank, whose messages ask it from the first to the last.
  MessageCoder(const Job& job, int rank, Executor& executor, Compute& compute, Tensor initial_model);

  /// What the operation becomes with the codec: its size, and the times of both ends. `members`: of its
  /// group.
  void resize(AnyCollective& collective, std::size_t members) const { (void)resized(collective, members); }
  /// The same, and what arrives of this rank's contribution; `slot` is where it gets its result. With
  /// `decode_s` the device encodes now, and is to decode for so long.
  void encode(AnyCollective& collective, std::size_t members, const CollectiveSlot& slot, double* decode_s);
  void decode(double seconds) { spend(Activity::compute, seconds, {}, "decode"); }
  enum class Way : std::uint8_t { sent, posted };
  void encode(Way way, int to, int tag, Message& message);

 private:
  /// Operation or way, group or receiver, channel or tag, own schedule, and the part of the model.
  using Kind = std::tuple<int, int, int, const Schedule*, Traffic, std::size_t>;
  struct Coded {
    double bytes = 0;
    CodecTimes kernels;
    CodingTimes times;
  };
  void spend(Activity activity, double seconds, const Tensor& result, const char* label);
  /// Of a message of so many bytes: numbers of it are coded.
  bool codes(Traffic traffic, double bytes, const CodedPart& part) const;
  double exact_bytes(const CodedPart& part) const;
  /// Its kernels.
  CodecTimes resized(AnyCollective& collective, std::size_t members) const;
  /// Of a message that has so many bytes without the codec, of which a receiver decodes `received`.
  Coded coded(double bytes, const CodedPart& part, double received = 1) const;
  struct Kept {
    Tensor known, error;    // g or h; e. Empty: the initial model, and 0
    bool of_model = false;  // else nothing is known before a message
    bool carries = false;   // e
  };
  Kept& kept_of(const Kind& kind, const CodedPart& part);
  /// What arrives of `values`; `kept` is then as the next message finds it, but for g.
  Tensor arriving(Kept& kept, const CodedPart& part, const Tensor& values);

  const Job& job_;
  const Coding& coding_;
  int rank_;
  Executor& executor_;
  Compute& compute_;
  Tensor initial_;
  std::map<Kind, Kept> kept_;
  std::uint64_t messages_ = 0;  // so far, for draws
};

}  // namespace simsgd
