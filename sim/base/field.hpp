// One field of a struct as files write it, to say more about after `Fields` (fields.hpp) was told it; and the
// values that fields may have beyond numbers and text.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  ///< keys stay in the order in which they are set

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

/// Which numbers may be written.
struct NumberRange {
  double at_least = -std::numeric_limits<double>::infinity(), above = at_least;
  double at_most = std::numeric_limits<double>::infinity(), below = at_most;

  bool admits(double value) const {
    return value >= at_least && value > above && value <= at_most && value < below;
  }
};

/// Text that a field keeps until somebody asks for its schema: literals stay where they are.
class Words {
 public:
  Words(const char* literal) : literal_(literal) {}    // NOLINT(google-explicit-constructor): it is text
  Words(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Words(std::string_view text) : text_(text) {}        // NOLINT(google-explicit-constructor)

  std::string text() const { return text_.empty() ? literal_ : text_; }

 private:
  const char* literal_ = "";
  std::string text_;
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
  Field& distinct() { return note("uniqueItems", "true"); }
  /// Of a text.
  Field& least_characters(int count) { return note("minLength", std::to_string(count)); }
  Field& most_characters(int count) { return note("maxLength", std::to_string(count)); }
  /// What holds where the file says nothing, in words that end a sentence "By default ...".
  Field& by_rule(Words rule) { return note("x-default", std::move(rule)); }
  /// How it is written, as JSON, where neither default nor type shows it.
  Field& example(const char* json) { return note("examples", json); }
  /// Where the default comes from.
  Field& source(Words source) { return note("x-source", std::move(source)); }
  /// What to do in place of writing a value out of range, in words that go on after "Write a number above 0,
  /// ".
  Field& remedy(Words remedy) { return note("x-remedy", std::move(remedy)); }

  Field(const Field&) = delete;
  Field(Field&&) = delete;
  Field& operator=(const Field&) = delete;
  Field& operator=(Field&&) = delete;
  Field() = default;
  ~Field() = default;

 private:
  friend class Fields;
  /// Of its schema: a keyword and what it says, as text where it begins with "x-", else as JSON.
  Field& note(const char* keyword, Words words);
  /// Its schema, with the default, the notes and the ranges.
  Json described() const;

  std::string key_;
  Words meaning_ = "";
  std::function<Json()> schema_;  ///< what its kind says
  std::vector<std::pair<const char*, Words>> notes_;
  NumberRange range_, items_;  ///< of the value; of those of a list
  std::size_t least_items_ = 0;
  bool required_ = false, is_object_ = false;
  std::function<bool(const Json&)> read_;  ///< false: it is nothing that the field may be
  std::function<bool(Json&)> write_;       ///< false: there is nothing to write
};

}  // namespace simsgd

namespace simsgd::fields {

/// Where multiples of a compute time are asked for and a time is given.
inline constexpr const char* kNotPlain =
    "is not a plain number, but \"relative\" asks for multiples of the compute time";
inline constexpr const char* kWritePlain =
    "Give a number without a unit, such as 0.5, or leave \"relative\" out";

/// Whole numbers without a point, as people write them; what is not finite is not a value.
bool put(Json& json, double value);

}  // namespace simsgd::fields
