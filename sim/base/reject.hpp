// A setting that cannot be used. A struct's table of fields (fields.hpp) finds what has the wrong type or
// lies out of range; what only shows once settings meet (a group larger than the cluster) its user rejects
// here, naming the key. The loader collects these with file and pointer.
#pragma once

#include <stdexcept>
#include <string>

namespace simsgd {

/// `key` is a pointer relative to the object that holds the setting, such as "/density".
struct ParameterError : std::runtime_error {
  ParameterError(std::string key_in, std::string problem_in, std::string remedy_in)
      : std::runtime_error(key_in + ": " + problem_in + ". " + remedy_in),
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
