// The reference: every key that a scenario file may have, made from the schema (schema.hpp) and nothing else.
// docs/reference.md, `simsgd list KEY`, the man page and shell completion all show this one model.
#pragma once

#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

/// "whole number", "list of times", "\"ring\" or \"tree\"", "time or object by its name".
std::string type_text(const Json& schema);
/// "> 0, <= 1"; empty where everything of its type may be. Bounds that every number has (largest_of, what
/// fits a whole number) are not told.
std::string range_text(const Json& schema);
/// An example as JSON: the one that the schema names, else its default, else one that it admits.
std::string example_text(const Json& schema);
/// What a value may be where the schema names everything, each as JSON.
std::vector<std::string> values_of(const Json& schema);

/// All texts but `meaning` and `source` are empty where there is nothing to say.
struct ReferenceKey {
  std::string pointer;              ///< "/cluster/nic/latency"; "*" stands for any element of a list
  std::string type;                 ///< in words: "whole number", "time or object by its name"
  std::string unit;                 ///< SI: "s", "B/s"
  std::string range;                ///< "> 0, <= 1"
  std::string default_value;        ///< as JSON
  std::string rule;                 ///< that gives the default: ends a sentence "By default ..."
  std::string meaning;              ///< one sentence, without full stop
  std::string example;              ///< as JSON
  std::string source;               ///< of the default
  bool required = false;            ///< of its object
  std::vector<std::string> values;  ///< of a closed set, each as JSON
};

/// An object, or a choice of plug-ins: then its only key is "name".
struct ReferenceObject {
  std::string pointer;          ///< "" is the scenario
  std::string plugin;           ///< the name that chooses this form; empty where there is no choice
  std::vector<std::string> of;  ///< plug-ins that have it: one of them must be chosen further out; empty: all
  std::string meaning;          ///< one sentence, without full stop
  std::string source;           ///< citation; may be empty
  std::vector<ReferenceKey> keys;
};

/// In the order of their pointers. What several plug-ins share is there once.
const std::vector<ReferenceObject>& reference();

/// A table for people and programs: {"pointer", "of", "type", ...}, without what is empty.
Json to_json(const ReferenceKey& key);

}  // namespace simsgd
