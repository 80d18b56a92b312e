// Names of the closed sets of core, as scenario files, metrics and tables write them.
#include <array>

#include "sim/job.hpp"
#include "sim/worker.hpp"

namespace simsgd {

std::string op_name(Collective::Op op) {
  static constexpr std::array<const char*, 7> kNames = {
      "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "barrier", "custom"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string fidelity_name(Fidelity fidelity) {
  static constexpr std::array<const char*, 5> kNames = {"auto", "closed", "steps", "flows", "messages"};
  return kNames[static_cast<std::size_t>(fidelity)];
}

}  // namespace simsgd
