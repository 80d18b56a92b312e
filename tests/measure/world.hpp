// What the tests of the real Worker share. Every test case runs on all ranks at once, so a rank that leaves
// one early leaves the others waiting: CHECK, not REQUIRE.
#pragma once

#include <functional>
#include <vector>

#include "measure/mpi_worker.hpp"

namespace simsgd::test {

/// Time only: one layer of 1,000 parameters that takes no time, on a star whose messages take
/// 10 us + bytes / (1 GB/s); runs for `steps` steps.
Job small_job(std::uint64_t steps = 1);

Values vector(Worker& worker, std::vector<float> values);
Values sparse(Worker& worker, std::vector<std::int32_t> indices, std::vector<float> values,
              std::vector<double> scalars = {});
/// The tensor behind a handle; an empty one behind an empty handle.
Tensor tensor(Worker& worker, const Values& values);

Collective collective(Collective::Op op, Values contribution);
Values run(Worker& worker, Collective collective);

}  // namespace simsgd::test
