// simsgd: the program.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "cli/verbs.hpp"
#include "sim/base/interrupts.hpp"
#include "sim/learn/numerics.hpp"

int main(int argc, char** argv) {
  simsgd::fix_numerics();
  simsgd::keep_freed_memory();
  simsgd::end_at_interrupts();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files (ulimit -f) is then an error of the write, which is told
  const int code = simsgd::run_command_line({argv + std::min(argc, 1), argv + argc});
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written && code == 0) fmt::print(stderr, "Cannot write to standard output.\n");
  std::fflush(stderr);
  // Nothing is left to destroy that matters; what was written is out.
  _exit(written || code != 0 ? code : 1);
}
