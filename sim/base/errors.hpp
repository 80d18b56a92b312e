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

/// "Did you mean \"a\"? ", or "" where nearest() finds none.
std::string suggestion(const std::string& name, const std::vector<std::string>& valid);
/// "Did you mean a? Choose a, b or c": the remedy for a name that is typed; `verb`: what to do with one of
/// them.
std::string which_there_are(const std::string& name, const std::vector<std::string>& valid,
                            const std::string& verb = "Choose");

// A setting that cannot be used. A struct's table of fields (fields.hpp) finds what has the wrong type or
// lies out of range; what only shows once settings meet (a group larger than the cluster) its user rejects
// here, naming the key. The loader collects these with file and pointer.

/// `key` is a pointer relative to the object that holds the setting, such as "/density".
struct ParameterError : std::runtime_error {
  ParameterError(std::string key_in, std::string problem_in, std::string remedy_in)
      : std::runtime_error(key_in + (key_in.empty() ? "" : ": ") + problem_in + ". " + remedy_in),
        key(std::move(key_in)),
        problem(std::move(problem_in)),
        remedy(std::move(remedy_in)) {}
  std::string key, problem, remedy;
};

/// Throws a ParameterError about `key`, a name or a path without its first slash.
[[noreturn]] inline void reject(const std::string& key, const std::string& problem,
                                const std::string& remedy) {
  throw ParameterError("/" + key, problem, remedy);
}

}  // namespace simsgd
