// One field of a struct as files write it, to say more about after `Fields` (fields.hpp) was told it; and the
// values that fields may have beyond numbers and text.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/units.hpp"

namespace simsgd {

using Json = nlohmann::json;

/// What an amount measures: a field that is a time in one place and a factor in another.
enum class DrawUnit : std::uint8_t {
  seconds,   ///< times: a number in seconds or text with a unit
  factor,    ///< plain numbers without unit, such as a factor on compute time
  relative,  ///< as `factor`, because "relative": true made times multiples of a compute time
};

/// A value as the file has it, kept until what it depends on is known: a plug-in's object, a distribution.
class RawValue {
 public:
  RawValue() = default;
  explicit RawValue(const Json& value);

  bool present() const { return value_ != nullptr; }
  /// Null where nothing is present.
  const Json& json() const;
  /// The "name" of an object; empty where there is none.
  std::string name() const;

 private:
  std::shared_ptr<const Json> value_;  // immutable: copies of settings share it
};

/// A time or, where a sibling makes times multiples of another, a plain number.
struct Amount {
  double value = 0;
  bool has_unit = false;  ///< written as text, so that only a time can be meant
  /// The number in `unit`; rejects text with a unit where a plain number is meant.
  double in(DrawUnit unit, const std::string& key) const;
};

/// One field, to say more about after it was added.
class Field {
 public:
  Field& required();
  Field& at_least(double bound);
  Field& above(double bound);
  Field& at_most(double bound);
  Field& below(double bound);
  /// Of a list.
  Field& items_at_least(double bound);
  Field& items_above(double bound);
  Field& items_at_most(double bound);
  Field& least_items(int count);
  Field& distinct();
  /// Of a text.
  Field& least_characters(int count);
  Field& most_characters(int count);
  /// What holds where the file says nothing, in words that end a sentence "By default ...".
  Field& by_rule(std::string_view rule);
  /// How it is written, as JSON, where neither default nor type shows it.
  Field& example(std::string_view json);
  /// Where the default comes from.
  Field& source(std::string_view source);
  /// What to do in place of writing a value out of range, in words that go on after "Write a number above 0,
  /// ".
  Field& remedy(std::string_view remedy);

  Field(const Field&) = delete;
  Field(Field&&) = delete;
  Field& operator=(const Field&) = delete;
  Field& operator=(Field&&) = delete;
  Field() = default;
  ~Field();

 private:
  friend class Fields;
  Json& schema() { return *schema_; }

  std::string key_;
  std::unique_ptr<Json> schema_;
  bool required_ = false;
  std::function<void(const Json&)> read_;
  std::function<bool(Json&)> write_;  // false: there is nothing to write
};

}  // namespace simsgd

namespace simsgd::fields {

// How the value of a field is read: checked against its schema, rejected with what would be right.

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
