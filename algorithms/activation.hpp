// Activation: how all ranks learn that somebody has reached a version of a wait-avoiding collective.
// The ranks form P binomial trees at once, one rooted at each: whoever hears by phase j (its own arrival is
// phase -1) tells rank + 2^i mod P for every i > j. Several may start the same version at nearly the same
// time, each message is sent once whoever asks for it, and every rank hears of every version:
// ceil(log2 P) messages after its first activator at the latest.
// Li et al., "Taming unbalanced training workloads in deep learning with partial collective operations",
// PPoPP 2020, section 4.1, arXiv:1908.04207. The messages have no bytes: latency and launch alone. A machine
// that offers Worker::listen does the same without messages; both give the same times
// (tests/algorithms/wait_avoiding_activation.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "sim/worker.hpp"

namespace simsgd {

/// One rank's part.
class Activation {
 public:
  using Heard = std::function<void(std::uint64_t version)>;

  /// `heard` is called once per version, in the background unless this rank announces it itself, and perhaps
  /// after this object is gone.
  Activation(Worker& worker, int tag, Heard heard);

  /// This rank has reached `version`, and has not heard of it.
  void announce(std::uint64_t version);

 private:
  struct Relay {
    Worker& worker;
    int tag, phases;
    Heard heard;
    std::map<std::uint64_t, int> told_from{};  // versions heard of: the lowest phase that was passed on

    void forward(std::uint64_t version, int phase);
  };
  // Shared with the worker's handler, which passes on what comes late, also when this rank is through.
  std::shared_ptr<Relay> relay_;
  bool listens_;
};

}  // namespace simsgd
