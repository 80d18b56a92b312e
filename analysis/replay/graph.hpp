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
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "traces/operations/recorded_job.hpp"

namespace simsgd::replay {

// What the kinds of operations of a recorded job mean: who takes part, and what waits for them.

enum class Role {
  forward,    ///< of a micro-batch, through one stage
  backward,   ///< the same, back
  send,       ///< to a neighbouring stage
  receive,    ///< from a neighbouring stage
  gather,     ///< a collective that forward passes wait for
  reduce,     ///< a collective that waits for backward passes, and the optimizer for it
  computing,  ///< anything else on a worker alone
  piece,      ///< computing that waits for a collective only where its lane stood idle until that ended
};

/// Who takes part in an operation together.
enum class Scope { worker, neighbour, replicas, slices, ends, all };

struct Kind {
  Role role = Role::computing;
  Scope scope = Scope::worker;
  bool backward = false;       ///< of messages: on the way back
  bool known = true;           ///< listed; others are told by the name of their lane
  bool communication = false;  ///< what is equalised to its median, and what a faster network shortens
};

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

  const Kind& role_of(const Operation& each) const { return roles[static_cast<std::size_t>(each.kind)]; }
  const RecordedPlace& place_of(const Operation& each) const {
    return workers[static_cast<std::size_t>(each.worker)];
  }
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

/// A step's operations in the job.
struct StepRange {
  std::size_t begin = 0, end = 0;
  double start_s = 0, end_s = 0;
};

/// A job's graph in pieces of whole steps, linked one after another, so that memory is that of one piece:
/// steps do not depend on each other.
class GraphPieces {
 public:
  /// Links all of `job`, which outlives this, to find what is wrong with it, and what is not recorded. Throws
  /// ConfigError, see make_graph. A piece has whole steps, of `most_operations` or, where one has more, one.
  /// `infer`: look for barriers that nobody recorded; else their waiting is in gaps.
  GraphPieces(const RecordedJob& job, std::size_t most_operations, bool infer);

  /// Of all steps, without operations.
  const Graph& whole() const { return whole_; }
  bool single() const { return first_of_piece_.size() == 2; }
  void each(const std::function<void(const Graph& piece)>& see);
  Graph take_first() &&;

 private:
  void link(std::size_t piece, std::vector<InputError>& errors);
  void link_all(const std::function<void(const Graph& piece)>& see);

  const RecordedJob& job_;
  std::vector<StepRange> steps_;
  std::vector<std::size_t> first_of_piece_;  // index into steps_, and their number
  std::size_t linked_ = 0;                   // the piece that `piece_` is
  Graph whole_, piece_;
};

}  // namespace simsgd::replay
