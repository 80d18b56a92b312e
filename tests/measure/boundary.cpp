// The boundary that lets one source run in both worlds.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/measure/run_command.hpp"

namespace simsgd::test::measure_boundary {

namespace fs = std::filesystem;

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

TEST_CASE("no file under algorithms/ includes a header of SimGrid, of MPI, of the engine or of measure/") {
  const std::regex forbidden(R"(#\s*include\s*[<"]([^>"]*simgrid|mpi\.h|smpi|sim/engine|measure/))");
  int files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(SIMSGD_SOURCE_DIR "/algorithms")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cpp" && extension != ".hpp") continue;
    ++files;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      CAPTURE(entry.path());
      CAPTURE(line);
      CHECK_FALSE(std::regex_search(line, forbidden));
    }
  }
  CHECK(files >= 4);
}

}  // namespace simsgd::test::measure_boundary
