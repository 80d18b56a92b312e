// The recurrence over a graph of operations: when each ends, given how long each takes and what passes before
// it begins.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/replay/graph.hpp"

namespace simsgd::replay {

/// By operation, as Graph::operations.
struct Times {
  std::vector<double> duration_s;  ///< see Graph: of a collective, from its last starter's launch on
  std::vector<double> gap_s;       ///< empty: none
};

struct Played {
  std::vector<double> launch_s, end_s;  ///< by operation, from the begin of its step
  std::vector<double> step_s;           ///< by step: from its begin to its last end
};

/// As recorded; `gaps`: or without any.
Times recorded_times(const Graph& graph, bool gaps);

/// Calls `see(step, operation)` for the operations of each step, in their order.
template <class See>
void each_operation(const Graph& graph, See&& see) {
  for (std::size_t s = 0; s < graph.steps.size(); ++s)
    for (std::size_t o = graph.group_begin[graph.steps[s].first_group];
         o < graph.group_begin[graph.steps[s].end_group]; ++o)
      see(s, o);
}

void play(const Graph& graph, const Times& times, Played& played);
Played play(const Graph& graph, const Times& times);

double mean(const std::vector<double>& values);

// What would have been: operations of a kind equalised, a worker healed, a faster network.

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

/// What each of `workers` computes, and its gaps, become the mean of its peers': the same operation of the
/// same step on those of the same slice and stage in other replicas that are not named; where all of these
/// are, on the stage's other slices; where the whole stage is, on other stages, and gaps stay. Messages and
/// collectives keep their times, since they depend on others too. Throws ConfigError, naming `option`, if a
/// worker does not exist or if all workers are named.
Times healed(const Graph& graph, Times times, const std::vector<int>& workers, const std::string& option);

/// Stages all of whose workers are named.
std::vector<int> whole_stages(const Graph& graph, const std::vector<int>& workers);

/// Workers that take longer than others who do the same work.
struct SlowPart {
  std::vector<int> workers;
  int stage = -1;     ///< all of its workers, which take longer than other stages'; -1: than their peers
  bool gaps = false;  ///< with the gaps before what they compute; else by computing alone
  std::vector<double> ratios;  ///< of each to the median of its peers; of the stage's to that of other stages
  std::vector<double> healed_s;  ///< steps, were they healed
};

/// Who is slow by what it computes, which has no waiting in it: longer by a twentieth than its peers, or a
/// stage than the others; with gaps, which may be waiting that nobody recorded, where nobody is by computing.
class SlowParts {
 public:
  void add(const Graph& piece);
  std::vector<SlowPart> found(const Graph& graph) const;

 private:
  std::vector<SlowPart> longer(const Graph& graph, bool gaps) const;
  std::vector<double> computing_s_, gaps_s_;  // by worker, over all steps
};

/// Messages and collectives take 1 / `factor` of the time from their last starter on; what nobody recorded
/// stays. assumed: all of it is transfer, none latency.
Times faster_network(const Graph& graph, Times times, double factor);

// The same job with another number of replicas: what the straggler model that its record shows does to more
// workers, or fewer.
//
// Every new replica has the speed of a recorded one, drawn once; in each step it computes what that one did
// in another recorded step, drawn each time, times what the step had for everybody (its computing time over
// that of the drawn one, as far as replicas were slow together; with one replica that cannot be told, and is
// taken as its own). All of a replica's stages, micro-batches and gaps are drawn as one block, so that what
// goes together stays together. Messages, and collectives within a replica, are those of the step itself: the
// network is shared, and slow for all at once. Collectives over replicas take (n' - 1) / n' : (n - 1) / n of
// their recorded time, as a ring does whose time is all bandwidth (2 (n - 1) / n m / B for an all-reduce,
// half of that for a reduce-scatter or all-gather; Patarasuk and Yuan, JPDC 2009). assumed: each worker's
// batch and the rest of its work stay, the optimizer's share of a sharded state too; the network is as fast
// for more workers; latencies are nothing beside the transfer.

struct ResizeOptions {
  int draws = 20;
  std::uint64_t seed = 1;
  double network = 1;  ///< factor of the network's speed
};

/// What came out for one number of workers.
struct ResizedJob {
  int workers = 0, replicas = 0;
  std::size_t steps = 0;               ///< of the recorded ones, where they are too many for so many workers
  std::vector<double> step_s;          ///< mean step of each draw, with gaps
  std::vector<double> without_gaps_s;  ///< the same without
  double ideal_s = 0;                  ///< without gaps, operations of a kind equalised
};

/// Throws ConfigError, which calls `option`, where `workers` is not a multiple of a replica's.
ResizedJob resize(const RecordedJob& job, const Graph& graph, int workers, const ResizeOptions& options,
                  const std::string& option);

/// Recorded workers, doubled until `workers`, and `workers`.
std::vector<int> sizes_up_to(const Graph& graph, int workers, const std::string& option);

}  // namespace simsgd::replay
