#include "tests/measure/run_command.hpp"
#include "tests/support/contents.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace simsgd::test {

namespace fs = std::filesystem;

namespace {}  // namespace

Ran run_command(const std::string& command, const std::string& input) {
  const fs::path folder = fs::temp_directory_path() / ("simsgd_test_measure_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const fs::path in = folder / "in", out = folder / "out", err = folder / "err";
  std::ofstream(in) << input;
  const std::string whole = command + " < " + in.string() + " > " + out.string() + " 2> " + err.string();
  const int status = std::system(whole.c_str());
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
  fs::remove_all(folder);
  return ran;
}

Ran run_ranks(int ranks, const std::string& command, const std::string& input) {
  return run_command(SIMSGD_MPIRUN " -n " + std::to_string(ranks) + " " + command, input);
}

}  // namespace simsgd::test
