// Where the ranks of a run or a measurement are: what its times can be trusted for.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

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

}  // namespace simsgd
