// All-reduces by recursive doubling, which the first worker that comes begins for all: what the bare programs
// of WAGMA and eager-SGD have in common.
#pragma once

#include <vector>

#include "bench/bare_steps.hpp"

namespace simsgd::bench {

/// Among the workers that differ in bits of the mask alone. One of all workers that blocks begins on each
/// when that comes.
struct BareAverage {
  std::uint32_t mask = 0;
  bool blocks = false;
  double before_s = 0, after_s = 0, predicted_s = 0;
};

class BareWaitAvoiding {
 public:
  /// Of steps 1, 2, ..., over and over.
  BareWaitAvoiding(const Job& job, std::vector<BareAverage> averages);
  double end_s();

 private:
  enum Kind : std::uint32_t { kComputes, kComputed, kNews, kBegun, kMessage, kEnded };
  struct Worker {
    std::uint32_t step = 0, heard = 0, begun = 0;  // the latter of averages
    std::uint32_t left = 0, open = 0;              // bits of the mask that are left; messages of the lowest
    bool came = false, communicates = false;
    double compute_s = 0, busy_until_s = 0;
  };
  const BareAverage& average(std::uint32_t number) const { return averages_[number % averages_.size()]; }
  bool happens(const BareEvent& event);
  bool ends_step(std::uint32_t w);
  void begin_step(std::uint32_t w);
  void hear(std::uint32_t w, std::uint32_t number, std::uint32_t phase);
  void begin_next(std::uint32_t w);
  void begin(std::uint32_t w);
  void enter(std::uint32_t w);

  const Job& job_;
  std::vector<BareAverage> averages_;
  BareLoop loop_;
  BareNews news_;
  std::vector<Worker> workers_;
  std::uint32_t bits_;
  std::vector<std::uint32_t> exchange_;  // paths to the partners, by worker and bit
};

}  // namespace simsgd::bench
