// Provenance: which file, and where in it, each value of a resolved scenario was written, so that an error in
// a used cluster file names that file and not the scenario that uses it.
#pragma once

#include <map>
#include <string>
#include <vector>

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

}  // namespace simsgd
