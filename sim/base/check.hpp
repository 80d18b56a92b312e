// CHECK: states that must never occur, whatever the input. Active in every build type.
// What a user can cause is a ConfigError (before the run) or a RunError (during it): see errors.hpp.
#pragma once

#include <stdexcept>
#include <string>

namespace simsgd {

/// A broken invariant: a defect of SimSGD, never of its input. The command line reports it with exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line,
                                      const std::string& sentence) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + sentence + " (" + condition +
                      ")");
}

}  // namespace simsgd

#define CHECK(condition, sentence)                                                      \
  do {                                                                                  \
    if (!(condition)) ::simsgd::check_failed(#condition, __FILE__, __LINE__, sentence); \
  } while (false)
