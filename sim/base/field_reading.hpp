// How a field is described, and how its value is read: checked against its range, rejected with what would be
// right.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

template <class Value>
Field& Field::describe(const char* key, const Value& value) {
  if (schema_) (*schema_)[key] = value;
  return *this;
}

}  // namespace simsgd

namespace simsgd::fields {

/// " from 1 to 8", " of at least 0": for a sentence.
std::string bounds_text(const Range& range);
/// Rejects what is out of range; `what`: "a number", with its article.
void check_bounds(const std::string& key, const Range& range, double value, const std::string& what);
double read_number(const std::string& key, const Range& range, const Json& json);
double read_quantity(const std::string& key, const Range& range, Dimension dimension, const Json& json);
double read_amount(const std::string& key, const Range& range, DrawUnit unit, const Json& json);
/// Errors of what is nested name the whole way.
template <class Read>
void below(const std::string& key, const Read& read) {
  try {
    read();
  } catch (const ParameterError& error) {
    throw ParameterError("/" + key + error.key, error.problem, error.remedy);
  }
}
/// Whole numbers without a point, as people write them; what is not finite is not a value.
bool put(Json& json, double value);

}  // namespace simsgd::fields
