// What a real run does not take from its scenario, and what it cannot do.
#pragma once

#include <vector>

#include "measure/mpi_worker.hpp"
#include "sim/base/notes.hpp"
#include "sim/job.hpp"

namespace simsgd {

struct Scenario;

/// One note each, to be added to the job's own.
std::vector<Note> notes_on_real_run(const Scenario& scenario, const Job& job, const RealRun& how);

struct Job;
struct Scenario;

/// Throws ConfigError where the job asks for what a real run does not have. Every role of a worker is there.
void require_roles(const Scenario& scenario, const Job& job);

}  // namespace simsgd
