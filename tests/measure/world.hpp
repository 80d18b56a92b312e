// What the tests of the real Worker share. Every test case runs on all ranks at once, so a rank that leaves
// one early leaves the others waiting: CHECK, not REQUIRE.
#pragma once

#pragma push_macro("CHECK")  // doctest's; the product has one of its own
#undef CHECK
#include "measure/mpi_worker.hpp"
#include "tests/support/jobs.hpp"
#pragma pop_macro("CHECK")

namespace simsgd::test {

/// Time only: one layer of 1,000 parameters that takes no time, on a star whose messages take
/// 10 us + bytes / (1 GB/s); runs for `steps` steps.
Job small_job(std::uint64_t steps = 1);

}  // namespace simsgd::test
