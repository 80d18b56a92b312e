#include "algorithms/python/watchdog.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

#include "algorithms/python/libpython.hpp"

namespace simsgd::python {

namespace {

std::atomic<std::uint64_t> begun{0};  // odd: Python runs
int depth = 0;
pid_t watched = 0;

int raise_timeout(void*) {
  api().PyErr_SetString(*api().TimeoutError,
                        "the method has computed for longer than its yield_limit without a yield");
  return -1;
}

/// Python looks at what is pending only where its own thread has added it.
void interrupt_python(int) { api().Py_AddPendingCall(raise_timeout, nullptr); }

[[noreturn]] void look_on(pthread_t python, double limit_s) {
  std::uint64_t seen = 0;
  auto since = std::chrono::steady_clock::now();
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
    const std::uint64_t now = begun.load(std::memory_order_relaxed);
    const auto time = std::chrono::steady_clock::now();
    if (now != seen || now % 2 == 0) {
      seen = now;
      since = time;
    } else if (std::chrono::duration<double>(time - since).count() > limit_s) {
      pthread_kill(python, SIGVTALRM);
      since = time;
    }
  }
}

}  // namespace

void watch(double limit_s) {
  if (watched == getpid()) return;  // threads do not survive a fork
  watched = getpid();
  struct sigaction action = {};
  action.sa_handler = interrupt_python;
  action.sa_flags = SA_RESTART;
  sigaction(SIGVTALRM, &action, nullptr);
  std::thread(look_on, pthread_self(), limit_s).detach();
}

void python_begins() {
  if (depth++ == 0) begun.fetch_add(1, std::memory_order_relaxed);
}

void python_ends() {
  if (--depth == 0) begun.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace simsgd::python
