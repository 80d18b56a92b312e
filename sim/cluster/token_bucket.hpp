// A token bucket, as a host's traffic shaping has it (HTB, tbf): it holds `bytes` tokens, fills at
// `fill_Bps`, and every byte takes one. A message of n bytes that meets b tokens takes max(n / Bps, (n - b) /
// fill_Bps), as after t seconds no more than b + fill_Bps t have passed.
#pragma once

#include <algorithm>
#include <limits>

namespace simsgd {

struct TokenBucket {
  double bytes = 0;                                      ///< 0: none
  double Bps = std::numeric_limits<double>::infinity();  ///< while there are tokens
  double fill_Bps = 0;

  /// Of a message: a wait, or bytes that flow at fill_Bps.
  struct Passage {
    double wait_s = 0, flowing_bytes = 0;
  };
  Passage passage(double message_bytes, double tokens) const {
    const double left = message_bytes - tokens;
    if (bytes == 0) return {0, message_bytes};
    if (left / fill_Bps >= message_bytes / Bps) return {0, left};
    return {message_bytes / Bps, 0};
  }
  /// From one message to the next in a long row of equal ones, each `alpha_s` after the end of the one before
  /// it: what flows in between is all that passes, and of a pause no more than the bucket holds is kept.
  double sustained_s(double alpha_s, double message_bytes) const {
    return std::max({message_bytes / fill_Bps, alpha_s + message_bytes / Bps,
                     alpha_s + (message_bytes - bytes) / fill_Bps});
  }
};

/// What a bucket holds as time goes on. Times of calls do not decrease.
class BucketLevel {
 public:
  explicit BucketLevel(const TokenBucket& bucket) : bucket_(bucket), tokens_(bucket.bytes) {}

  /// A message begins; where bytes of it flow, `ended` is called when they have.
  TokenBucket::Passage take(double at_s, double message_bytes) {
    const double tokens =
        flows_ > 0 ? 0 : std::min(bucket_.bytes, tokens_ + bucket_.fill_Bps * (at_s - since_s_));
    const TokenBucket::Passage passage = bucket_.passage(message_bytes, tokens);
    if (passage.flowing_bytes > 0) {
      ++flows_;
    } else {
      tokens_ = tokens - message_bytes;  // below 0 by what fills it on the way
      since_s_ = at_s;
    }
    return passage;
  }
  void ended(double at_s) {
    --flows_;
    tokens_ = 0;
    since_s_ = at_s;
  }

 private:
  TokenBucket bucket_;
  double tokens_;
  double since_s_ = 0;
  int flows_ = 0;
};

}  // namespace simsgd
