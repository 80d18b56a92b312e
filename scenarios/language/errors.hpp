// The errors of one scenario: collected by pointer, reported where each value was written.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/provenance.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

/// JSON text of a value; long text is cut, and of a long object or list nothing is shown.
std::string shown_value(const Json& value);

/// The value at `pointer`, or null where there is none.
const Json* value_at(const Json& document, const std::string& pointer);

class ErrorList {
 public:
  // The 101st error throws them all, and says that there are more.

  /// `pointer` is of the resolved scenario; the error names the place where the value was written. `found` is
  /// the value there, unless it is given or there is none.
  void add(const Json& document, const Provenance& origins, const std::string& pointer,
           const std::string& problem, const std::string& remedy);
  void add(const std::string& pointer, InputError error);

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

}  // namespace simsgd
