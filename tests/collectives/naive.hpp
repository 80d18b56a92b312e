// The recurrence of sim/collectives/recurrence.hpp as its header states it, message by message, with nothing
// clever:
//   u = max(t_i, t_j) + alpha + bytes beta + jitter,  t_i <- max over the messages of i of u, + reduction if
//   it received
#pragma once

#include <algorithm>
#include <vector>

#include "sim/collectives/recurrence.hpp"

namespace simsgd::test {

inline void naive_advance(const StageCosts& costs, const JitterDraws* jitter, std::uint32_t& step,
                          std::vector<double>& t) {
  const Stage& stage = *costs.stage;
  for (int repetition = 0; repetition < stage.repeat; ++repetition, ++step) {
    std::vector<double> next = t;
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (stage.to[i] < 0) continue;
      const auto j = static_cast<std::size_t>(stage.to[i]);
      double end = std::max(t[i], t[j]) + costs.alpha_s[i] + costs.transfer_s[i];
      if (jitter) end += jitter->at(step, static_cast<std::uint32_t>(i)) * costs.jitter_factor(i);
      next[i] = std::max(next[i], end);
      next[j] = std::max(next[j], end);
    }
    for (std::size_t i = 0; i < t.size(); ++i)
      if (stage.from[i] >= 0) next[i] += costs.reduce_s;
    t = next;
  }
}

/// Largest difference, relative to the largest entry of `b`.
inline double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0, scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return scale > 0 ? worst / scale : worst;
}

}  // namespace simsgd::test
