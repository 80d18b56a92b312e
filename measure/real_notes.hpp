// What a real run does not take from its scenario.
#pragma once

#include <vector>

#include "measure/mpi_worker.hpp"
#include "sim/base/notes.hpp"
#include "sim/job.hpp"

namespace simsgd {

struct Scenario;

/// One note each, to be added to the job's own.
std::vector<Note> notes_on_real_run(const Scenario& scenario, const Job& job, const RealRun& how);

}  // namespace simsgd
