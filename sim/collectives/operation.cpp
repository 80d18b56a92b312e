#include "sim/collectives/operation.hpp"

#include <array>

namespace simsgd {

std::string op_name(CollectiveOp op) {
  static constexpr std::array<const char*, 8> kNames = {
      "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "barrier", "custom"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string fidelity_name(Fidelity fidelity) {
  static constexpr std::array<const char*, 5> kNames = {"auto", "closed", "steps", "flows", "messages"};
  return kNames[static_cast<std::size_t>(fidelity)];
}

}  // namespace simsgd
