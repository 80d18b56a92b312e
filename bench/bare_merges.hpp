// What a step of gTop-k consists of.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/job.hpp"

namespace simsgd::bench {

/// One worker sends to another one once both are there, which then merges.
struct BareMerge {
  std::uint32_t from = 0, to = 0;
  double message_s = 0, merge_s = 0;  ///< the former where nothing meets it
};

struct BareMerges {
  std::vector<BareMerge> merges;  ///< a worker takes part in its own in this order
  double message_bytes = 0;
  bool any_meet = false;         ///< messages of these
  std::vector<double> before_s;  ///< by worker: from its gradient to its first merge
  double after_s = 0;            ///< from its last one on
};

/// With the default options and a density of 0.001.
BareMerges bare_merges(const Job& job);

}  // namespace simsgd::bench
