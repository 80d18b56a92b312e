// Which collective operations there are, and how they can be costed: the words that schedules and plans share
// with jobs and workers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace simsgd {

/// What each does: sim/roles/collectives.hpp.
enum class CollectiveOp : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  reduce,
  barrier,
  custom
};
std::string op_name(CollectiveOp op);

/// What encoding takes before a payload moves, and decoding after it has arrived
/// (sim/roles/message_coder.hpp).
struct CodingTimes {
  double before_s = 0, after_s = 0;
  CodingTimes& operator+=(const CodingTimes& other) {
    before_s += other.before_s;
    after_s += other.after_s;
    return *this;
  }
  auto operator<=>(const CodingTimes&) const = default;
};

/// How collectives are costed; docs/model.md, "Fidelity".
enum class Fidelity : std::uint8_t { automatic, closed, steps, flows, messages };
std::string fidelity_name(Fidelity fidelity);

}  // namespace simsgd
