#include "algorithms/plugin.hpp"

#include <fmt/format.h>

namespace simsgd {

namespace {

void note(const AlgorithmContext& context, const Cost& cost, const std::string& text) {
  if (context.notes != nullptr && !cost.known()) add_note(*context.notes, {"unknown-cost", text});
}

}  // namespace

void note_device_cost(const AlgorithmContext& context, const Cost& cost, const std::string& what,
                      const std::string& key) {
  if (context.cluster != nullptr)
    note(context, cost, fmt::format("{}: device {} has no \"{}\"", what, context.cluster->device.name, key));
}

void note_kernel(const AlgorithmContext& context, DeviceKernel kernel) {
  if (context.cluster == nullptr) return;
  for (const UnknownCost& cost : unknown_costs(context.cluster->device, kernel))
    note_device_cost(context, Cost(), cost.instead, cost.key);
}

void note_cluster_cost(const AlgorithmContext& context, const Cost& cost, const std::string& what,
                       const std::string& key) {
  if (context.cluster != nullptr)
    note(context, cost, fmt::format("{}: cluster {} has no \"{}\"", what, context.cluster->name, key));
}

void note_overlap(const AlgorithmContext& context) {
  if (context.cluster != nullptr && context.workers > 1)
    note_device_cost(context, context.cluster->device.communication_slowdown,
                     "communication does not slow the computing beside it", "communication_slowdown");
}

}  // namespace simsgd
