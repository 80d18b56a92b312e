// What both pools of children are made of.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace simsgd {

/// A forked child and the pipes to it.
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

/// In a child: 'answer' or 'threw', and its text, without its end.
struct ChildAnswer {
  bool threw = false;
  std::string text;
};
ChildAnswer answer_of(const std::function<std::string()>& work);

/// Waits; returns its status.
int wait_for(pid_t process);

/// Physical memory of a process; what it still shares with its parent is part of it.
double resident_bytes(pid_t process);
/// "needed more than the 4 GB of memory that --memory allows".
std::string too_large(double most_bytes);

/// "was ended by signal 9 (Killed), ...".
std::string how_it_died(int status);

}  // namespace simsgd
