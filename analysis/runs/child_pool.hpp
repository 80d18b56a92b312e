// Runs tasks in forked children, some at a time, and hands their answers to the parent: a task
// that crashes or takes too long takes nobody with it. The caller must have no threads.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace simsgd {

struct ChildPoolSettings {
  int jobs = 1;                          ///< children at a time
  std::optional<double> timeout_s{};     ///< a child that takes longer for a task is ended
  std::optional<double> memory_bytes{};  ///< and one whose resident memory is larger
  std::function<bool()> interrupted{};   ///< asked several times a second; true ends everything; may be empty
  std::function<void()> tick{};          ///< called as often, for progress; may be empty
};

/// How a task ended.
struct ChildEnd {
  enum class Kind { answered, threw, died, timed_out, too_large } kind = Kind::died;
  std::string text;  ///< its answer, what() of its exception, or how its child died, a clause
  double wall_s = 0;
};
/// Of one that did not answer, as a sentence.
std::string failure_of(const ChildEnd& end);

/// What there is to do next.
struct NextTask {
  enum class Kind { task, later, none } kind = Kind::none;  ///< `later`: ask again in a moment
  std::size_t task = 0;
};

struct ChildTasks {
  std::function<NextTask()> next;                                ///< asked here while a child is free
  std::function<std::string(std::size_t task)> work;             ///< called in a child
  std::function<void(std::size_t task, const ChildEnd&)> ended;  ///< called here as tasks end
  /// A child does one task after another: what it has read and built for one is there for the next. Where
  /// memory is limited each task has a child of its own all the same.
  bool lasting = false;
  int wakes = -1;  ///< a file: the pool waits no longer once it can be read; -1: none
  /// Called before a run of at most `most` calls of `next`, so that they can be prepared together.
  std::function<void(std::size_t most)> several{};
};

/// Until `next` says that there is none, and all have ended. Children die with this process. When it
/// returns or throws, no child is left. Throws Interrupted, RunError where no child can be made, and what
/// `next` and `ended` throw.
void run_in_children(const ChildPoolSettings& settings, const ChildTasks& tasks);

/// Each task below `count`, in that order, in lasting children.
void run_in_children(std::size_t count, const ChildPoolSettings& settings,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildEnd&)>& ended);

// A forked child and the pipes to it.

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
