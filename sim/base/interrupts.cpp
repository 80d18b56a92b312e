#include "sim/base/interrupts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace simsgd {

namespace {

// A signal belongs to the process: this is the one place with state of it.
volatile std::sig_atomic_t signal_seen = 0, at_once = 1;

void handle(int) {
  signal_seen = 1;
  if (at_once <= 0) return;
  constexpr char kText[] = "Interrupted.\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(130);
}

void install() {
  struct sigaction action = {};
  action.sa_handler = handle;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void end_at_interrupts() { install(); }

void catch_interrupts() {
  at_once = 0;
  install();
}

bool interrupted() { return signal_seen != 0; }

// NOLINTBEGIN(bugprone-narrowing-conversions,cppcoreguidelines-narrowing-conversions)
EndsAtInterrupts::EndsAtInterrupts() {
  if (interrupted()) throw Interrupted();
  at_once = at_once + 1;
}
EndsAtInterrupts::~EndsAtInterrupts() { at_once = at_once - 1; }
// NOLINTEND(bugprone-narrowing-conversions,cppcoreguidelines-narrowing-conversions)

void Waiting::pause() {
  constexpr double kPause_s = 0.02, kSilent_s = 2;
  if (interrupted()) throw Interrupted();
  usleep(static_cast<useconds_t>(kPause_s * 1e6));
  if (interrupted()) throw Interrupted();
  waited_s_ += kPause_s;
  if (said_ || waited_s_ < kSilent_s) return;
  said_ = true;
  fmt::print(stderr, "{}.\n", sentence_);
}

}  // namespace simsgd
