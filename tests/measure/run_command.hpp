// Runs a command of the shell.
#pragma once

#include <string>

namespace simsgd::test {

struct Ran {
  int code = -1;
  std::string output;  ///< what it wrote to standard output
  std::string errors;  ///< and to standard error
};

Ran run_command(const std::string& command, const std::string& input = "");

/// The same on so many MPI ranks.
Ran run_ranks(int ranks, const std::string& command, const std::string& input = "");

}  // namespace simsgd::test
