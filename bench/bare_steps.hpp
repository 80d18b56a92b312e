// What the bare programs of methods have in common: what a step costs, and how news spread.
#pragma once

#include "bench/bare_loop.hpp"
#include "sim/job.hpp"

namespace simsgd::bench {

struct BareStep {
  double delay_s = 0, work_s = 0;  // one after the other
};
BareStep bare_step(const Job& job, std::uint32_t worker, std::uint64_t step);

/// When `work_s` that begin at `now_s` are done: the device computes slower while it is predicted to
/// communicate.
double bare_computed_s(const Job& job, double now_s, double work_s, double busy_until_s);

/// A number that whoever hears it tells those at the distances 1, 2, 4, ... that it has not told: of those at
/// the distance 2^i that are told, each tells those at larger ones.
class BareNews {
 public:
  /// An event of `kind` is that worker a hears of number b / 64 from distance 2^(b % 64).
  BareNews(const Job& job, BareLoop& loop, std::uint32_t kind);
  /// Tells those at the distance 2^phase and larger ones.
  void tell(std::uint32_t worker, std::uint32_t number, std::uint32_t phase);

 private:
  BareLoop& loop_;
  std::uint32_t kind_, workers_, phases_;
  std::vector<double> hop_s_;             // by worker and phase
  std::vector<std::uint32_t> told_from_;  // phase, by number and worker
};

}  // namespace simsgd::bench
