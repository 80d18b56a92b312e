// Which collective operations there are, and how they can be costed: the words that schedules and plans share
// with jobs and workers.
#pragma once

#include <cstdint>
#include <string>

namespace simsgd {

/// all_reduce, reduce: sum of the contributions, times Collective::scale. reduce_scatter: member i gets the
/// i-th part of it. all_gather: everybody gets every contribution. broadcast: the root's. custom: a schedule
/// by name with an effect (sim/worker.hpp, Collective).
enum class CollectiveOp : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  barrier,
  custom
};
std::string op_name(CollectiveOp op);

/// How collectives are costed; docs/model.md, "Fidelity".
enum class Fidelity : std::uint8_t { automatic, closed, steps, flows, messages };
std::string fidelity_name(Fidelity fidelity);

}  // namespace simsgd
