// Workers that something unrecorded holds together.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/replay/graph.hpp"

namespace simsgd::replay {

/// Two workers are held together before a kind of operation where, over all steps, its begins differ by at
/// most a twentieth of what the ends differ by that they wait for, and neither begins before both are ready.
/// Whoever of the same stage begins with them belongs to them, too: also the one that all waited for, whose
/// record may overlap, or lie on a clock that is a little off.
class SynchronisationFinder {
 public:
  /// The next steps, linked without synchronisations.
  void add(const Graph& graph);
  /// Of all steps; kinds and workers are `graph`'s.
  std::vector<Synchronisation> found(const Graph& graph) const;

 private:
  struct Begins {
    std::vector<double> start_s, ready_s;  // by step, of the first operation of a kind; NaN: it has none
    bool every_step = true;
  };
  using Named = std::pair<std::int32_t, const Begins*>;  // a worker's
  static bool held_together(const Begins& a, const Begins& b);
  static bool begins_with(const Begins& other, const std::vector<Named>& held);
  std::vector<std::vector<Named>> held(const std::vector<Named>& workers) const;

  std::map<std::pair<std::int32_t, std::int32_t>, Begins> begins_;  // by kind and worker
  std::size_t steps_ = 0;
};

}  // namespace simsgd::replay
