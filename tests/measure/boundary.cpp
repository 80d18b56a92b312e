// The boundary that lets one source run in both worlds; tests/base/arrows.cpp looks at the includes.
#include <doctest/doctest.h>

#include "tests/measure/run_command.hpp"

namespace simsgd::test::measure_boundary {

TEST_CASE("simsgd-measure is linked with MPI and not with SimGrid, which exports MPI's names") {
  const Ran ldd = run_command("ldd " SIMSGD_MEASURE_PROGRAM);
  REQUIRE(ldd.code == 0);
  CHECK(ldd.output.find("libmpi.so") != std::string::npos);
  CHECK(ldd.output.find("simgrid") == std::string::npos);
}

TEST_CASE("no name of SimGrid and nothing of the engine is in simsgd-measure") {
  const Ran names = run_command("nm -C " SIMSGD_MEASURE_PROGRAM);
  REQUIRE(names.code == 0);
  CHECK(names.output.find("simsgd::MpiWorker") != std::string::npos);
  CHECK(names.output.find("simgrid::") == std::string::npos);
  CHECK(names.output.find("simsgd::SimWorker") == std::string::npos);
}

}  // namespace simsgd::test::measure_boundary
