// How the value of a field is read: checked against its schema, rejected with what would be right.
#pragma once

#include <functional>
#include <string>

#include "sim/base/field.hpp"
#include "sim/base/units.hpp"

namespace simsgd::fields {

/// " from 1 to 8", " of at least 0": the range of a schema, for a sentence.
std::string bounds_text(const Json& schema);
/// Rejects what is out of range; `what`: "a number", with its article.
void check_bounds(const std::string& key, const Json& schema, double value, const std::string& what);
double read_number(const std::string& key, const Json& schema, const Json& json);
double read_quantity(const std::string& key, const Json& schema, Dimension dimension, const Json& json);
double read_amount(const std::string& key, const Json& schema, DrawUnit unit, const Json& json);
/// Errors of what is nested name the whole way.
void below(const std::string& key, const std::function<void()>& read);
/// Whole numbers without a point, as people write them; what is not finite is not a value.
bool put(Json& json, double value);

}  // namespace simsgd::fields
