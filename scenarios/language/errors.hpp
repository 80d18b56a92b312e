// Where each value of a resolved scenario was written, so that an error in a used cluster file names that
// file and not the scenario that uses it; and the errors of one scenario, collected by pointer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/fields.hpp"

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

// JSON pointers (RFC 6901) as text.

/// `pointer` extended by one key, escaped.
std::string child(const std::string& pointer, const std::string& key);
std::string child(const std::string& pointer, std::size_t index);
/// Without its last token; "" for a top-level one.
std::string parent(const std::string& pointer);
/// The last token, unescaped.
std::string last_key(const std::string& pointer);
/// All tokens, unescaped. `pointer` is empty or begins with "/".
std::vector<std::string> tokens(const std::string& pointer);
/// True for `pointer` itself and for what lies below it.
bool within(const std::string& inner, const std::string& pointer);

/// JSON text of a value; long text is cut, and of a long object or list nothing is shown.
std::string shown_value(const Json& value);

/// The index that a token of a pointer is; nothing where it is none.
std::optional<std::size_t> list_index(const std::string& token);

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

}  // namespace simsgd
