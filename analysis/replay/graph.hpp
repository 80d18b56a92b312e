// A recorded job as a graph: every operation waits for what its lane did before it, for what it needs
// (activations of the stage before, gradients of the stage behind, reduced gradients), and, where it is a
// message or a collective, for those that take part in it. What passed between the end of all that and its
// recorded begin is its gap: launch delay, host, or what nobody recorded.
//
//   launch(o) = max over d that o waits for of end(d)  + gap(o)       (nothing: the begin of the step)
//   go(g)     = max over the members o of g of launch(o)
//   end(o)    = go(g) + duration(o)
//
// so that a duration of a message or collective is that of its last starter, and waiting comes out anew.
// Steps are apart: each begins when its first operation did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/replay/kinds.hpp"
#include "traces/operations/recorded_job.hpp"

namespace simsgd::replay {

struct Operation {
  std::int32_t kind = 0, lane = 0, worker = 0;
  std::int32_t micro_batch = -1, chunk = 0;
  std::int32_t occurrence = 0;  ///< the how-many-th of its kind on its worker, in the step, from 0
  std::uint32_t line = 0;       ///< in the file; 0: not recorded
  double start_s = 0;           ///< as recorded, from the begin of the step
  double duration_s = 0;        ///< from the last launch of its group on; see above
  double gap_s = 0;             ///< may be negative: it began before what it needs had ended
  double end_s() const { return start_s + recorded_s; }
  double recorded_s = 0;  ///< with the waiting for others
};

struct Step {
  std::int64_t number = 0;
  double start_s = 0;     ///< by the job's clock
  double recorded_s = 0;  ///< from the first begin to the last end
  std::size_t first_group = 0, end_group = 0;
};

// Starts that differ by less are one instant: messages and collectives that are recorded from the begin of
// their last starter on show it to within 0.2 us, or 1 us where times are whole.
inline constexpr double kAligned_s = 2e-6;
/// assumed: of workers that wait for each other, begins differ by host jitter and clocks alone, microseconds
/// to milliseconds, where they become ready tens of milliseconds to seconds apart: by at most this share of
/// it.
inline constexpr double kMostOfSpread = 0.05;

/// Workers whose operations of a kind begin together in every step, although what each of them waits for
/// ends at different times: something that is not recorded holds them together.
struct Synchronisation {
  std::string kind;  ///< before which they wait for each other
  std::vector<std::int32_t> workers;
};

struct Graph {
  std::vector<Operation> operations;          ///< by group; a group after all that it waits for
  std::vector<std::size_t> group_begin;       ///< of each in `operations`, and the end of the last
  std::vector<std::size_t> dependency_begin;  ///< of each operation in `dependencies`, and the end
  std::vector<std::uint32_t> dependencies;    ///< indices into `operations`
  std::vector<Step> steps;
  std::vector<std::string> kinds, lanes;
  std::vector<Kind> roles;       ///< of the kinds
  std::vector<bool> unrecorded;  ///< kinds that stand for what a synchronisation shows
  std::vector<RecordedPlace> workers;
  int replicas = 1, stages = 1, tensors = 1;
  std::vector<Synchronisation> synchronisations;
  std::map<std::string, std::size_t> warnings;  ///< what was not as it should be, by reason
};

/// Throws ConfigError with all that is wrong: operations that wait for each other in a circle.
Graph make_graph(const RecordedJob& job);

/// The same of a job that repeats replicas of another, whose graph says what is not recorded: replica r is
/// its r mod n.
Graph make_graph(const RecordedJob& job, const Graph& like);

/// Ready of an operation as recorded: when the last that it waits for had ended.
double recorded_ready_s(const Graph& graph, std::size_t operation);

/// When the members of a message or collective were ready, and began, as recorded.
struct GroupTimes {
  double first_ready_s = 0, last_ready_s = 0, go_s = 0;
  /// Members that begin this much before `go_s` are recorded from the last starter on: they waited.
  double aligned_s = kAligned_s;
};
GroupTimes group_times(const Graph& graph, std::size_t group);

}  // namespace simsgd::replay
