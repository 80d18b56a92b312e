// The micro-benchmarks of simsgd-measure. Each is collective, and gives its table on rank 0.
#pragma once

#include "measure/bench/campaigns.hpp"
#include "sim/job.hpp"

namespace simsgd {

/// Messages between two ranks: there and back, and both ways at once. With `all_pairs` of every two,
/// with `at_once` also of 1, 2, ... pairs at the same time.
SampleTable measure_network(const Bench& bench);

/// Every schedule that the simulation has, message by message, and MPI's own, among the first P ranks for
/// every P from 2.
SampleTable measure_collectives(const Bench& bench);
/// Throws ConfigError for operations and schedules that there are not.
void check_collective_names(const BenchOptions& options);

/// What real runs compute with, on every rank at once; with a job its model's layers too.
SampleTable measure_compute(const Bench& bench, const Job* job);

}  // namespace simsgd
