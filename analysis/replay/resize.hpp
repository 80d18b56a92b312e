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
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/replay/replay.hpp"

namespace simsgd::replay {

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
