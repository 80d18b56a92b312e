// Runs many short tasks: some long-lived children ("workers") do one task after another. What a worker has
// read and built for a task is there for the next. A task that crashes or takes too long takes its worker
// with it, and nobody else; where memory is limited it has a process of its own. The caller must have no
// threads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "analysis/sweeps/child_pool.hpp"

namespace simsgd {

/// What there is to do next.
struct NextTask {
  enum class Kind { task, later, none } kind = Kind::none;  ///< `later`: ask again in a moment
  std::size_t task = 0;
};

struct WorkerPoolTasks {
  /// Asked here when a worker is free.
  std::function<NextTask()> next;
  /// In a worker: prepares a task. What it returns does it.
  std::function<std::function<std::string()>(std::size_t task)> prepare;
  /// Called here as tasks end.
  std::function<void(std::size_t task, const ChildEnd&)> ended;
};

/// Until `next` says that there is none, and all have ended. Workers and their children die with this
/// process. A timeout counts from when a worker takes a task up. Throws Interrupted, RunError where no child
/// can be made, and what `next` and `ended` throw.
void run_in_workers(const ChildPoolSettings& settings, const WorkerPoolTasks& tasks);

}  // namespace simsgd
