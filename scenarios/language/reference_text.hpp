// What a schema says, in words.
#pragma once

#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

/// "whole number", "list of times", "\"ring\" or \"tree\"", "time or object by its name".
std::string type_text(const Json& schema);
/// The SI unit of a quantity, or of the quantities of a list; empty for everything else.
std::string unit_text(const Json& schema);
/// "> 0, <= 1"; empty where everything of its type may be. Bounds that every number has (largest_of, what
/// fits a whole number) are not told.
std::string range_text(const Json& schema);
/// An example as JSON: the one that the schema names, else its default, else one that it admits.
std::string example_text(const Json& schema);
/// What a value may be where the schema names everything, each as JSON.
std::vector<std::string> values_of(const Json& schema);

/// Whether the schema is a choice of plug-ins or an object that its "name" chooses.
bool is_plugin_form(const Json& schema);

}  // namespace simsgd
