// Whether a real run's times can be trusted: what it saw of the machine while it ran.
#pragma once

#include <mpi.h>

#include <vector>

#include "sim/base/notes.hpp"

namespace simsgd {

/// What one rank saw. Seconds.
struct Trust {
  int ranks_here = 1, cores = 1;  ///< on this rank's machine
  double load_before = 0;         ///< processes that wanted a core in the minute before
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
