#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/measure/world.hpp"

#include <doctest/doctest.h>

#include "measure/waiting.hpp"

namespace simsgd::test {

Job small_job(std::uint64_t steps) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Job job = scripted_job(star(ranks, 10e-6, 1e9), nullptr, 1000);
  job.stop.steps = steps;
  return job;
}

}  // namespace simsgd::test

int main(int argc, char** argv) {
  simsgd::ask_for_short_slices();
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  doctest::Context context(argc, argv);
  const int code = size == SIMSGD_TEST_RANKS ? context.run() : 1;
  MPI_Finalize();
  return code;
}
