// A training method outside the program: a library that `simsgd --plugin libmine.so` loads. Include this
// header in one file of it, and write SIMSGD_PLUGIN(mine) at its end, outside of namespaces, where
// `std::vector<simsgd::AlgorithmPlugin> mine()` gives its methods. examples/plugin/ is a template, and
// docs/algorithms.md says how a method is written. The program's own functions are the library's too.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/plugin.hpp"

namespace simsgd {

/// What a library and the program must agree on, since objects of C++ pass between them. These members never
/// change.
struct PluginAbi {
  const char* version;   ///< of SimSGD
  std::uint64_t layout;  ///< equal where classes have equal sizes
};

/// Raised by hand where these headers change their meaning and no size does.
inline constexpr std::uint64_t kPluginInterface = 1;

constexpr PluginAbi plugin_abi(const char* version) {
  std::uint64_t layout = kPluginInterface;
  for (const std::uint64_t size :
       {sizeof(AlgorithmPlugin), sizeof(AlgorithmContext), sizeof(Worker), sizeof(Roles), sizeof(Workload),
        sizeof(Layer), sizeof(Cluster), sizeof(Device), sizeof(LogicalGraph), sizeof(OptimizerSpec),
        sizeof(Fields), sizeof(GradientOptions), sizeof(AllReduce), sizeof(Tensor), sizeof(TensorData),
        sizeof(MemoryPart), sizeof(std::string)})
    layout = layout * 1099511628211U + size;
  return {.version = version, .layout = layout};
}

}  // namespace simsgd

#define SIMSGD_PLUGIN(table)                                                                       \
  extern "C" __attribute__((visibility("default"))) const simsgd::PluginAbi* simsgd_plugin_abi() { \
    static constexpr simsgd::PluginAbi abi = simsgd::plugin_abi(SIMSGD_VERSION);                   \
    return &abi;                                                                                   \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) void simsgd_plugin_algorithms(                 \
      std::vector<simsgd::AlgorithmPlugin>* into) {                                                \
    *into = table();                                                                               \
  }
