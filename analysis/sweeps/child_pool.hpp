// Runs tasks in forked children, some at a time, and hands their answers to the parent: a task
// that crashes takes nobody with it. The caller must have no threads.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace simsgd {

struct ChildPoolSettings {
  int jobs = 1;                             ///< children at a time
  std::optional<double> timeout_s;          ///< a child that takes longer is ended
  std::optional<double> memory_bytes = {};  ///< and one whose resident memory is larger
  std::function<bool()> interrupted;  ///< asked several times a second; true ends everything; may be empty
  std::function<void()> tick;         ///< called as often, for progress; may be empty
};

/// How a child ended.
struct ChildEnd {
  enum class Kind { answered, threw, died, timed_out, too_large } kind = Kind::died;
  std::string text;  ///< its answer, what() of its exception, or how it died, a clause
  double wall_s = 0;
};

/// Calls `work(i)` in a child for each i below `count`, in that order as children become free, and `ended(i,
/// ...)` here as they end. Children die with this process. When it returns or throws, no child is left.
/// Throws Interrupted, RunError where no child can be made, and what `ended` throws.
void run_in_children(std::size_t count, const ChildPoolSettings& settings,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildEnd&)>& ended);

/// Tasks that come up while others run.
struct ComingTasks {
  std::function<std::optional<std::size_t>()> next;  ///< asked while a child is free; nothing: none for now
  int wakes = -1;  ///< a file: the pool waits no longer once it can be read; -1: none
};

/// As above for tasks that are not known beforehand. Ends by an exception alone.
[[noreturn]] void run_in_children(const ComingTasks& tasks, const ChildPoolSettings& settings,
                                  const std::function<std::string(std::size_t)>& work,
                                  const std::function<void(std::size_t, const ChildEnd&)>& ended);

}  // namespace simsgd
