// Ctrl-C and SIGTERM. A program that only reads its input holds nothing and ends at once; a verb that has
// something to put away (children, a store, an output file) asks interrupted() as it goes on, and throws
// Interrupted.
#pragma once

#include <stdexcept>
#include <string>

namespace simsgd {

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

/// From now on both signals end the program at once: "Interrupted." on stderr, exit code 130.
void end_at_interrupts();
/// From now on both signals only make interrupted() true.
void catch_interrupts();
bool interrupted();

/// While one of these lives, signals end the program at once all the same, and after 2 s it says on stderr
/// what it waits for: for reading a file that may never come or never end. One at a time says something.
class EndsAtInterrupts {
 public:
  /// `input`: the path of the file, or another name of it. Of a regular file nothing is said.
  explicit EndsAtInterrupts(const std::string& input);
  ~EndsAtInterrupts();
  EndsAtInterrupts(const EndsAtInterrupts&) = delete;
  EndsAtInterrupts& operator=(const EndsAtInterrupts&) = delete;
};

/// A wait for something outside this program. After 2 s it says on stderr, once, what it waits for.
class Waiting {
 public:
  /// `sentence`: "Waiting for ..." without its full stop.
  explicit Waiting(std::string sentence) : sentence_(std::move(sentence)) {}
  /// Sleeps 20 ms. Throws Interrupted.
  void pause();
  double waited_s() const { return waited_s_; }

 private:
  std::string sentence_;
  double waited_s_ = 0;
  bool said_ = false;
};

}  // namespace simsgd
