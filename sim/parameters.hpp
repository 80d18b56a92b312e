// Parameters: the JSON object of one plug-in, already checked against its schema, read with units and
// defaults. What a schema cannot say (a group larger than the cluster) the plug-in reports with `reject`,
// naming the key; the loader collects these with file and pointer.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// A parameter that cannot be used. `key` is a pointer relative to the plug-in's object, such as "/density".
struct ParameterError : std::runtime_error {
  ParameterError(std::string key_in, std::string problem_in, std::string remedy_in)
      : std::runtime_error(key_in + ": " + problem_in + ". " + remedy_in),
        key(std::move(key_in)),
        problem(std::move(problem_in)),
        remedy(std::move(remedy_in)) {}
  std::string key, problem, remedy;
};

class Parameters {
 public:
  explicit Parameters(Json object) : object_(std::move(object)) {}

  const Json& json() const { return object_; }
  bool has(const std::string& key) const { return object_.contains(key); }
  /// A number in SI or text with a unit.
  double quantity(const std::string& key, Dimension dimension) const;
  double quantity(const std::string& key, Dimension dimension, double otherwise) const;
  double number(const std::string& key, double otherwise) const;
  double number(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
  std::int64_t integer(const std::string& key) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::string text(const std::string& key) const;
  /// A nested object; empty if absent.
  Parameters object(const std::string& key) const;

  [[noreturn]] static void reject(const std::string& key, const std::string& problem,
                                  const std::string& remedy) {
    throw ParameterError("/" + key, problem, remedy);
  }

 private:
  const Json& at(const std::string& key) const;
  Json object_;
};

}  // namespace simsgd
