// Algorithm: a training method as a plug-in. One file in the folder of its family under algorithms/, listed
// in algorithms/CMakeLists.txt.
#pragma once

#include <string>
#include <vector>

#include "sim/learn/optimizer.hpp"
#include "sim/workload.hpp"

namespace simsgd {

// What training needs of a GPU's memory, as named parts. An algorithm declares its own (Algorithm::memory); a
// scenario that does not fit is refused, and results list the parts.

struct MemoryPart {
  std::string name;  ///< "parameters"
  double bytes = 0;  ///< on each GPU; the most of any, where they differ
};

/// What memory depends on.
struct MemoryContext {
  const Workload& workload;
  const OptimizerSpec& optimizer;
  int workers = 1;

  /// Of one fp32 vector of the model's size.
  double vector_bytes() const { return kBytesPerNumber * workload.parameters(); }
};

/// A whole replica: parameters, gradients, what the optimizer keeps, and the activations of a micro-batch.
std::vector<MemoryPart> replica_memory(const MemoryContext& context);
/// The same with something more.
std::vector<MemoryPart> replica_memory_and(const MemoryContext& context, std::vector<MemoryPart> more);

double total_bytes(const std::vector<MemoryPart>& parts);

class Worker;
struct Coding;

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
  /// How its gradients and models travel, where that is part of the method; null: as the scenario says.
  virtual const Coding* coding() const { return nullptr; }
  /// What training by it needs of a GPU, beside what coding takes.
  virtual std::vector<MemoryPart> memory(const MemoryContext& context) const {
    return replica_memory(context);
  }
};

/// A method that says of itself: every rank does the same in every step but the first, whatever its number
/// and the time, in collectives of all ranks or of groups that all ranks make alike; and after a crash it
/// computes again what it lost. A machine that knows it may take down what one of them does
/// (sim/engine/step_trace.hpp), and go through the ranks without a thread or a fiber for each.
class LockstepAlgorithm : public Algorithm {};

}  // namespace simsgd
