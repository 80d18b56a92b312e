// Algorithm: a training method as a plug-in. One file in the folder of its family under algorithms/, listed
// in algorithms/CMakeLists.txt.
#pragma once

#include "sim/memory.hpp"

namespace simsgd {

class Worker;

/// Settings are fixed at construction; all state of a run lives on the stack of `run` and in the worker. One
/// object is run by every rank, so `run` is const.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  virtual void run(Worker& worker) const = 0;
  /// Whether a worker comes to wait for late ones, so that a run of N steps is N of each. Where not, steps
  /// are counted over all of them (StopRule).
  virtual bool needs_others() const { return true; }
  /// Replicas are shards of the model, in order of rank (Replica::keep_shard), instead of models.
  virtual bool shards() const { return false; }
  /// What training by it needs of a GPU.
  virtual std::vector<MemoryPart> memory(const MemoryContext& context) const {
    return replica_memory(context);
  }
};

}  // namespace simsgd
