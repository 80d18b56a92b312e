// What training needs of a GPU's memory, as named parts. An algorithm declares its own (Algorithm::memory); a
// scenario that does not fit is refused, and results list the parts.
#pragma once

#include <string>
#include <vector>

#include "sim/learn/optimizer.hpp"
#include "sim/workload.hpp"

namespace simsgd {

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

}  // namespace simsgd
