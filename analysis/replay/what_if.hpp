// What would have been: operations of a kind equalised, a worker healed, a faster network.
#pragma once

#include <functional>
#include <vector>

#include "analysis/replay/replay.hpp"

namespace simsgd::replay {

/// How long an operation of each kind takes where all are equal: the mean of what computes, the median of
/// messages and collectives, over all workers, steps and micro-batches (Lin et al., OSDI 2025,
/// arXiv:2505.05713, section 3: a mean would spread the few that were disturbed over all).
std::vector<double> equal_durations_s(const Graph& graph);

/// The same of a graph that comes in pieces.
class EqualDurations {
 public:
  void add(const Graph& piece);
  std::vector<double> durations_s();  ///< by kind

 private:
  struct Seen {
    bool communication = false;
    double sum_s = 0, count = 0;
    std::vector<double> each_s;  // of messages and collectives
  };
  std::vector<Seen> kinds_;
};

/// Every operation as long as those of its kind are, but those that `keeps` says.
Times equalised(const Graph& graph, Times times, const std::vector<double>& equal_s,
                const std::function<bool(const Operation&)>& keeps);
Times ideal(const Graph& graph, Times times, const std::vector<double>& equal_s);

/// What `worker` computes, and its gaps, become the mean of its peers': the same operation of the same step
/// on the other replicas' workers of its stage. Messages and collectives are not its own, and stay. Throws
/// ConfigError, which calls `option`, where there is no such worker, or no peer.
Times healed(const Graph& graph, Times times, const std::vector<int>& workers, const std::string& option);

/// Messages and collectives take 1 / `factor` of the time from their last starter on; what nobody recorded
/// stays. assumed: all of it is transfer, none latency.
Times faster_network(const Graph& graph, Times times, double factor);

}  // namespace simsgd::replay
