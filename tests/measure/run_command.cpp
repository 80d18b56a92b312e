#include "tests/measure/run_command.hpp"

#include <sys/wait.h>

#include <cstdlib>

#include "tests/support/contents.hpp"
#include "tests/support/temporary_folder.hpp"

namespace simsgd::test {

Ran run_command(const std::string& command, const std::string& input) {
  const TemporaryFolder folder;
  const std::string in = folder.write("in", input), out = folder.path("out"), err = folder.path("err");
  const std::string whole = command + " < " + in + " > " + out + " 2> " + err;
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

Ran run_ranks(int ranks, const std::string& command, const std::string& input) {
  return run_command(SIMSGD_MPIRUN " -n " + std::to_string(ranks) + " " + command, input);
}

}  // namespace simsgd::test
