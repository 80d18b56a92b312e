// The records of all workers, brought to rank 0.
#pragma once

#include <mpi.h>

#include <vector>

#include "sim/record.hpp"

namespace simsgd {

/// Collective, blocking. On rank 0 the record of every rank, elsewhere nothing.
std::vector<WorkerRecord> gather_records(MPI_Comm world, const WorkerRecord& own);

}  // namespace simsgd
