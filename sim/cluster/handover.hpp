// How a communication library takes what algorithms hand to it, beyond what its operations cost: set by the
// cluster's stack (sim/stacks/stack.hpp). Without one it takes each operation as it comes.
#pragma once

#include <cstdint>
#include <optional>

namespace simsgd {

/// Operations wait for the next tick of a clock that all workers share; the all-reduces that everybody has
/// handed over by then are fused. Sergeev, Del Balso, "Horovod", arXiv:1802.05799, section 4.
struct Negotiation {
  double cycle_s = 0;       ///< from tick to tick; 0: no waiting
  double agreement_s = 0;   ///< from a tick until its first operation begins
  double fusion_bytes = 0;  ///< at most so many in one buffer; an operation that is larger goes by itself
};

struct Handover {
  /// How gradients are handed over where the algorithm's options do not say it.
  enum class Gradients : std::uint8_t {
    as_asked,
    tensor_by_tensor,
    all_at_once
  } gradients = Gradients::as_asked;
  /// An operation begins when its worker next waits, or has computed its gradient: nothing overlaps.
  bool blocking = false;
  /// A payload of one tensor is sent from where it lies, and not copied into a buffer.
  bool single_in_place = false;
  std::optional<Negotiation> negotiation{};
};

}  // namespace simsgd
