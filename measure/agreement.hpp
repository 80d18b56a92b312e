// What ranks have to agree on before they wait for one another: that they are the same program, do the same,
// and have the same scenario. Else one would wait for what another never sends.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "sim/base/fields.hpp"

namespace simsgd {

/// What a rank was started as.
struct Started {
  std::string program;    ///< with its version
  std::string arguments;  ///< as they were written, for people
  std::string does;       ///< verb and options, as far as they must be the same everywhere
};

/// The first collective of a program, in one shape whatever else its version does. A sentence that says who
/// was started as something else than rank 0, the same on all ranks; empty where nobody was.
std::string started_apart(MPI_Comm world, const Started& own);

/// Collective. Throws ConfigError on ranks whose resolved scenario is not rank 0's, with the first
/// difference.
void require_one_scenario(MPI_Comm world, const std::string& file, const Json& resolved);

/// Collective. Calls `attempt` on all ranks; what fails is said once, by the lowest rank where it did. The
/// exit code.
int on_all_ranks(MPI_Comm world, const std::function<void()>& attempt);

}  // namespace simsgd
