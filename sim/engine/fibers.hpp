// The workers of a run as fibers of one thread: each has a stack of its own in one arena, runs until it
// waits, and goes on when somebody wakes it. Who was woken first runs first.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace simsgd {

/// Of a simulated worker. An odd number of pages: at a power of two from each other, the tops of all stacks
/// would share one set of the TLB.
inline constexpr std::size_t kStackBytes = std::size_t{129} * 4096;

class Fibers {
 public:
  /// Thrown in a fiber that waits when the fibers are destroyed: it must pass.
  struct Ended {};

  /// Throws RunError where the process gets no address space for so many stacks.
  explicit Fibers(int most);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// The next one, numbered from 0: it begins when `run` is called. No exception but Ended may leave `body`.
  void start(std::function<void()> body);
  /// Runs all that are ready, and those whom they wake, until nobody is.
  void run();
  bool any_ready() const;
  /// Called by a fiber: it waits until it is woken. A wake that came while it ran counts.
  void block();
  void wake(int fiber);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace simsgd
