// Operations of groups that go abreast: the k-th member of each group comes to an operation at the same
// instant as the k-th of every other, as where the GPUs of a node have reduced together and each then sums up
// its part with its like on other nodes. Their messages meet on links, but every link has those of one place
// alone, which begin and end together and share it evenly. So a recurrence tells what simulating all of them
// would (tests/engine/lockstep.cpp has both).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collectives/plan.hpp"
#include "sim/engine/step_trace.hpp"

namespace simsgd {

/// An operation of several groups, of which each rank is in one.
struct OfGroups {
  std::vector<const std::vector<int>*> ranks;  ///< by group
  std::vector<const Plan*> plans;
  std::vector<Fidelity> fidelities;

  /// All take only numbers, and nobody leaves one before all of its group have come.
  bool are_recurrences() const;
  /// All members of a group end it at one instant, whenever each of them came.
  bool ends_at_once() const;
};

class AbreastLinks;

/// How long the operation takes a group, while all others are at theirs.
class AbreastTiming {
 public:
  /// std::nullopt if groups differ, or if messages of several places can meet on a link.
  static std::optional<AbreastTiming> make(AbreastLinks& links, const OfGroups& operation);
  void ends(const std::vector<double>& arrivals_s, std::vector<double>& ends_s) const;
  /// That simulating the messages of one group takes.
  std::uint64_t events() const { return events_; }

 private:
  // A stage, or at `flows` all stages in a row whose repetitions are aggregated, as ScheduleRun does.
  struct Phase {
    StageCosts costs;
    double bytes = 0, repeats = 0, reduce_s = 0;  // of those that are aggregated; no repeats: none
    std::vector<double> cycles_s{};               // how long each cycle takes them, from its last rank on
  };
  void make_phases(Fidelity fidelity);
  static bool share(Phase& phase, const std::vector<double>& shares_Bps);

  const Plan* plan_ = nullptr;  // of a group; the others' cost the same
  std::vector<Phase> phases_;
  std::uint64_t events_ = 0;
};

/// One for each operation of a trace; std::nullopt where its own recurrence gives the times.
using AbreastTimings = std::vector<std::optional<AbreastTiming>>;

/// std::nullopt if an operation of the trace has to be simulated message by message, because it has no
/// recurrence and its groups do not go abreast either. `operations` are those of the trace, in its order.
std::optional<AbreastTimings> time_abreast(const Cluster& cluster, const StepTrace& trace,
                                           const std::vector<OfGroups>& operations);

}  // namespace simsgd
