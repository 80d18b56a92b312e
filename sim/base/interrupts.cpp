#include "sim/base/interrupts.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

namespace simsgd {

namespace {

// A signal belongs to the process: this is the one place with state of it.
volatile std::sig_atomic_t signal_seen = 0, at_once = 1;
std::array<char, 512> waiting_text = {};  // "Waiting for FILE.\n", which a signal handler may write
volatile std::sig_atomic_t waiting_size = 0, waiting_said = 0;
constexpr int kSilent_s = 2;

void handle(int) {
  signal_seen = 1;
  if (at_once <= 0) return;
  constexpr char kText[] = "Interrupted.\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(130);
}

void say_waiting(int) {
  waiting_said = 1;
  (void)!write(STDERR_FILENO, waiting_text.data(), static_cast<std::size_t>(waiting_size));
}

void ring_after(int seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Once for a file that is read in pieces, however many of them are waited for.
void announce_waiting_for(const std::string& input) {
  std::array<char, 512> text = {};
  const auto end = fmt::format_to_n(text.begin(), text.size() - 1, "Waiting for {:.400}.\n", input);
  if (text == waiting_text && waiting_said != 0) return;
  waiting_text = text;
  waiting_size = static_cast<int>(end.out - text.begin());
  waiting_said = 0;
  struct sigaction action = {};
  action.sa_handler = say_waiting;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  ring_after(kSilent_s);
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
EndsAtInterrupts::EndsAtInterrupts(const std::string& input) {
  if (interrupted()) throw Interrupted();
  at_once = at_once + 1;
  struct stat status = {};
  if (stat(input.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) announce_waiting_for(input);
}
EndsAtInterrupts::~EndsAtInterrupts() {
  ring_after(0);
  at_once = at_once - 1;
}
// NOLINTEND(bugprone-narrowing-conversions,cppcoreguidelines-narrowing-conversions)

void Waiting::pause() {
  constexpr double kPause_s = 0.02;
  if (interrupted()) throw Interrupted();
  usleep(static_cast<useconds_t>(kPause_s * 1e6));
  if (interrupted()) throw Interrupted();
  waited_s_ += kPause_s;
  if (said_ || waited_s_ < kSilent_s) return;
  said_ = true;
  fmt::print(stderr, "{}.\n", sentence_);
}

}  // namespace simsgd
