// A forked child and the pipes to it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace simsgd {

struct ChildProcess {
  pid_t process = -1;
  int answers = -1;   ///< from it
  int commands = -1;  ///< to it; -1 where it gets none
};

/// Forks. In the child `body` gets the ends of the pipes, and must not return. Throws RunError.
ChildProcess fork_child(bool with_commands, const std::function<void(int commands, int answers)>& body);

/// Writes all of it; false where nobody reads.
bool write_all(int file, const char* bytes, std::size_t count);
/// Reads exactly so much; false at the end.
bool read_all(int file, char* bytes, std::size_t count);

/// Waits; returns its status.
int wait_for(pid_t process);
/// "was ended by signal 9 (Killed), ...".
std::string how_it_died(int status);

}  // namespace simsgd
