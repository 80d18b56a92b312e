// The two errors that a user can meet: bad input (all of it at once, exit code 2) and a run that failed (exit
// code 1).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace simsgd {

/// One thing that is wrong with an input file.
struct InputError {
  std::string file;     ///< path as the user named it, "--set", or "<stdin>"
  std::string pointer;  ///< JSON pointer inside the file; empty for the whole file
  std::string problem;  ///< what is wrong, a clause without full stop
  std::string found;    ///< the value found, as JSON text; empty where there is none
  std::string remedy;   ///< what would be right

  /// `file:/json/pointer: problem. Found: x. remedy.`; without the pointer where it is empty.
  std::string text() const;
};

/// Input that cannot be used: every error in it, thrown once. Exit code 2.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<InputError> all);
  explicit ConfigError(InputError error) : ConfigError(std::vector<InputError>{std::move(error)}) {}
  const std::vector<InputError>& errors() const { return errors_; }

 private:
  std::vector<InputError> errors_;
};

/// A run that started and could not finish (deadlock, NaN, a disk that is full). Exit code 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The member of `valid` nearest to `name` by edit distance, or "" if none is near enough to be a
/// misspelling.
std::string nearest(const std::string& name, const std::vector<std::string>& valid);

/// "a, b or c".
std::string one_of(const std::vector<std::string>& names);

}  // namespace simsgd
