// The operations of a recorded job, one by one: what every worker computed, sent and reduced, and when.
// Read of tables and timelines of operations, and of steps (stepped_job.cpp, kineto_job.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "traces/reading/input.hpp"

namespace simsgd {

/// A worker's place: which copy of the model, which pipeline stage of it, which slice of that stage.
struct RecordedPlace {
  int replica = 0, stage = 0, tensor = 0;
  auto operator<=>(const RecordedPlace&) const = default;
};

struct RecordedOperation {
  std::int64_t step = 0;                        ///< the number that the file gives it
  std::int32_t kind = 0, lane = 0, worker = 0;  ///< indices into the job's lists
  std::int32_t micro_batch = -1, chunk = 0;     ///< of a stage's virtual stages; -1: belongs to none
  std::uint32_t line = 0;                       ///< in the file, from 1: a line, or which event it is
  double start_s = 0, end_s = 0;                ///< by the job's clock
};

/// What a kind of operation is where its name does not tell: a worker's own, which follows what it does
/// before without a gap or has waited for a collective; or a collective of all.
enum class RecordedRole { computing, collective };

struct RecordedJob {
  std::string file;
  std::string unit = "line";  ///< what RecordedOperation::line counts
  std::vector<std::string> kinds, lanes;
  std::vector<RecordedRole> roles;     ///< of the kinds; empty: their names tell
  std::vector<RecordedPlace> workers;  ///< by stage, replica, slice: as Megatron numbers ranks
  int replicas = 1, stages = 1, tensors = 1;
  std::deque<RecordedOperation> operations;       ///< by step, worker, lane, start; never held twice
  std::map<std::string, std::size_t> understood;  ///< what was read and left out on purpose, by kind
  std::map<std::string, std::size_t> ignored;     ///< what was not understood, by reason
  std::vector<InputError> skipped;                ///< of that, what a strict reading refuses; the first ones
  /// Counts it as ignored, and keeps where it was.
  void skip(const std::string& reason, InputError where);
};

/// A file, plain or gzip, "-" for standard input: its format is told by its content. Throws ConfigError with
/// all that is wrong with it.
RecordedJob read_recorded_job(const std::string& path);
/// The same of several files, which hold a rank each.
RecordedJob read_recorded_job(const std::vector<std::string>& paths);
/// The same of a text, which errors call `name`.
RecordedJob read_recorded_job(const std::string& name, const std::string& text);

bool is_step_rows(std::string_view head);
RecordedJob read_step_rows(Input& input);
bool is_kineto_job(std::string_view head);
/// `others`: paths of further ranks' files.
RecordedJob read_kineto_job(Input& first, const std::vector<std::string>& others);

/// By step, worker, lane, start.
void sort_operations(RecordedJob& job);

// A job whose ranks all do the same in every step, each on its own mini-batch: what a profile of every rank,
// or a table of its steps, shows of it, as operations that can be played again.

struct SteppedSpan {
  double begin_s = 0, end_s = 0;
};

struct SteppedCollective {
  SteppedSpan span;
  std::string operation;
  double bytes = 0;    ///< of the whole array; 0: not told
  int group_size = 0;  ///< 0: not told
};

/// What one rank did in one step, in any order; cleared once it is used.
struct SteppedStep {
  std::uint64_t number = 0;
  std::optional<SteppedSpan> whole;  ///< where its begin and end are by the operations' clock
  std::vector<SteppedSpan> computing;
  std::vector<SteppedCollective> collectives;
};

struct SteppedRank {
  int rank = 0;
  std::vector<SteppedStep> steps;
};

struct SteppedJob {
  std::string file;                ///< that errors name
  std::string unit = "operation";  ///< what it counts in errors
  int world_size = 0;              ///< 0: as many as there are
  bool one_clock = true;           ///< else each rank's is set by the ends of collectives
  std::vector<SteppedRank> ranks;
  std::map<std::string, std::size_t> understood, ignored;
  std::vector<InputError> skipped;  ///< see RecordedJob
};

/// Computing is cut where a collective began, and where it had waited for one that ended; what lies between
/// belongs to it. Throws ConfigError where the ranks' files do not fit together, or where they do not tell
/// what waited for what: operations of some ranks alone, that end before all have begun, or outlive their
/// step.
RecordedJob recorded_job(SteppedJob job);

}  // namespace simsgd
