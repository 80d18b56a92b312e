#include "sim/algorithm.hpp"

namespace simsgd {

std::vector<MemoryPart> replica_memory(const MemoryContext& context) {
  const Workload& workload = context.workload;
  double entries = 0;
  for (const Layer& layer : workload.layers) entries += layer.activations;
  std::vector<MemoryPart> parts = {{"parameters", context.vector_bytes()},
                                   {"gradients", context.vector_bytes()}};
  if (const double state = context.optimizer.state_bytes_per_parameter(); state > 0)
    parts.push_back({"optimizer state", state * workload.parameters()});
  parts.push_back({"activations", kBytesPerNumber * entries * workload.batch / workload.micro_batches});
  return parts;
}

std::vector<MemoryPart> replica_memory_and(const MemoryContext& context, std::vector<MemoryPart> more) {
  std::vector<MemoryPart> parts = replica_memory(context);
  for (MemoryPart& part : more) parts.push_back(std::move(part));
  return parts;
}

double total_bytes(const std::vector<MemoryPart>& parts) {
  double total = 0;
  for (const MemoryPart& part : parts) total += part.bytes;
  return total;
}

}  // namespace simsgd
