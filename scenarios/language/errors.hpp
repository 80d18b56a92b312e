// Where each value of a resolved scenario was written, so that an error in a used cluster file names that
// file and not the scenario that uses it; and the errors of one scenario, collected by pointer.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/explain.hpp"
#include "sim/base/pointers.hpp"

namespace simsgd {

struct Origin {
  std::string file;     ///< path as errors show it, "--set", "--seed" or "<stdin>"
  std::string pointer;  ///< inside that file
  bool operator==(const Origin&) const = default;
};

/// Sparse: an entry holds for its pointer and everything below it that has no entry of its own.
class Provenance {
 public:
  /// Everything at and below `pointer` comes from `origin`; forgets what was known below it.
  void replace(const std::string& pointer, Origin origin);
  /// What lies at and below `pointer` comes from where `other` has it.
  void replace(const std::string& pointer, const Provenance& other);
  Origin at(const std::string& pointer) const;

 private:
  std::map<std::string, Origin> origins_;
};

/// JSON text of a value; long text is cut, and of a long object or list nothing is shown.
std::string shown_value(const Json& value);

class ErrorList {
 public:
  // The 101st error throws them all, and says that there are more.

  /// `pointer` is of the resolved scenario; the error names the place where the value was written. `found` is
  /// the value there, unless it is given or there is none.
  void add(const Json& document, const Provenance& origins, const std::string& pointer,
           const std::string& problem, const std::string& remedy);
  void add(const std::string& pointer, InputError error);
  /// What was found in the value at `at`. Keys that are missing in the objects of `incomplete` are not errors
  /// of their own.
  void add(const std::vector<Explanation>& found, const std::string& at, const Json& document,
           const Provenance& origins, const std::set<std::string>& incomplete);
  void add(const ErrorList& others);

  /// Whether anything at or below `pointer` is wrong.
  bool touches(const std::string& pointer) const;
  bool empty() const { return errors_.empty(); }
  /// In the order of their discovery, each once.
  const std::vector<InputError>& all() const { return errors_; }
  /// Throws those at or below `pointer`.
  void throw_if_any(const std::string& pointer = "") const;

 private:
  std::vector<InputError> errors_;
  std::vector<std::vector<std::string>> pointers_;  ///< of each error, in the resolved scenario
};

/// `value` with every default filled in; adds everything that is wrong with it.
Json checked(const Json& schema, Json value, const Provenance& origins,
             const std::set<std::string>& incomplete, ErrorList& errors);

}  // namespace simsgd
