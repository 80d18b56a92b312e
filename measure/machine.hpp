// Where the ranks of a run or a measurement are, and whether its times can be trusted: what it saw of the
// machine while it ran.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "sim/base/notes.hpp"

namespace simsgd {

struct BenchMachine {
  int rank = 0, ranks = 1;
  std::vector<int> node_of;   ///< of each rank, from 0 in the order of ranks
  int ranks_here = 1;         ///< under this rank's kernel, whatever their hosts are called
  int cores = 1;              ///< that these may use
  double ranks_per_core = 1;  ///< on the fullest machine
  /// All ranks read the same clock: they share a kernel, though they may be on different nodes (testbed).
  bool one_clock = true;

  bool crowded() const { return ranks_per_core > 1; }
  int nodes(int first_ranks) const;  ///< that the first so many ranks are on
  /// How many consecutive of the first so many ranks share each node; 0 if that differs.
  int ranks_per_node(int first_ranks) const;
};

/// Collective over `world`.
BenchMachine look_at_machine(MPI_Comm world);

/// Processes that want to run, mean of the last minute. NaN where the system does not tell.
double load_of_last_minute();

/// What a person should know before trusting the times; "" if nothing.
std::string doubt_about(const BenchMachine& machine, double load);

/// What one rank saw. Seconds.
struct Trust {
  int ranks_here = 1, cores = 1;  ///< on this rank's machine
  double load_before = 0;         ///< as load_of_last_minute, when it began
  double slept_s = 0;             ///< asked for, in naps that stand for computing
  double overslept_s = 0;         ///< and by so much they ended late
  double longest_oversleep_s = 0;
  double late_values_s = 0;  ///< emulated: the workload's time was over, and the values not there
  double clock_step_s = 0;   ///< by which the calendar's clock moved against the steady one
  double wall_s = 0;
  bool emulates = false;  ///< computing is slept through: ranks may be more than cores

  /// More threads than cores: who waits must not spin.
  bool crowded() const { return 2 * ranks_here > cores; }
};

/// Begins to look. Collective.
Trust begin_trust(MPI_Comm world);

/// Calendar's clock less steady clock; a step of it is seen in the difference of two.
double calendar_offset_s();

/// A sentence for each thing that makes the times of the run doubtful; on rank 0, elsewhere nothing.
/// Collective.
std::vector<Note> doubts(MPI_Comm world, const Trust& own);

}  // namespace simsgd
