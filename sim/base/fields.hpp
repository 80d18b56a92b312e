// Settings said once. A struct tells its fields to a Fields object: name in files, quantity, range, meaning.
// Its defaults are the values that the struct has without a file. From this alone come the schema that files
// are validated with, the reader, the defaults of a resolved document, `simsgd list`, the reference and
// completion: a new field is a member, a line in `fields`, and its use.
//
//   struct FailureModel {
//     double restart_s = 0;
//     std::optional<double> mean_time_between_s;
//
//     void fields(Fields& f) {
//       f.time("restart", restart_s, "From a crash until the worker computes again");
//       f.time("mean_time_between", mean_time_between_s, "Of one worker, exponential").by_rule("none");
//     }
//   };
//
// A value that may be missing is a std::optional, or a Cost where missing means unknown. Headers of structs
// need only the declaration of Fields.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

// A cost that a file may leave out. What is unknown counts as 0, but is not the same as what is said to be 0:
// whoever uses an unknown cost says so in a note (sim/base/notes.hpp).

class Cost {
 public:
  Cost() = default;                                    ///< unknown
  Cost(double value) : value_(value), known_(true) {}  // NOLINT(google-explicit-constructor): it is a number

  bool known() const { return known_; }
  double value_or(double otherwise) const { return known_ ? value_ : otherwise; }
  operator double() const { return value_; }  // NOLINT(google-explicit-constructor): 0 where unknown

 private:
  double value_ = 0;
  bool known_ = false;
};

/// What a std::optional holds.
template <class T>
struct OptionalValue {
  using type = T;
};
template <class T>
struct OptionalValue<std::optional<T>> {
  using type = T;
};

class Fields {
 public:
  /// What it is for: with `read`, only reading; then nothing is described.
  enum class Purpose : std::uint8_t { describe, read };

  /// `amounts`: what an `amount` measures here.
  explicit Fields(DrawUnit amounts = DrawUnit::seconds, Purpose purpose = Purpose::describe)
      : amounts_(amounts), purpose_(purpose) {}
  ~Fields();
  Fields(Fields&&) noexcept;
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  Fields& operator=(Fields&&) = delete;

  // T: double, std::optional<double> or Cost.
  template <class T>
  Field& number(std::string_view key, T& value, std::string_view meaning);
  template <class T>
  Field& quantity(Dimension dimension, std::string_view key, T& value, std::string_view meaning);
  /// At least 0, as all that follow but bandwidths, which are above 0.
  template <class T>
  Field& time(std::string_view key, T& value, std::string_view meaning) {
    return quantity(Dimension::time_s, key, value, meaning).at_least(0);
  }
  template <class T>
  Field& bytes(std::string_view key, T& value, std::string_view meaning) {
    return quantity(Dimension::bytes, key, value, meaning).at_least(0);
  }
  template <class T>
  Field& bandwidth(std::string_view key, T& value, std::string_view meaning) {
    return quantity(Dimension::rate_Bps, key, value, meaning).above(0);
  }
  template <class T>
  Field& flop(std::string_view key, T& value, std::string_view meaning) {
    return quantity(Dimension::flop, key, value, meaning).at_least(0);
  }
  template <class T>
  Field& flops(std::string_view key, T& value, std::string_view meaning) {
    return quantity(Dimension::rate_flops, key, value, meaning).at_least(0);
  }
  template <class T>
  Field& power(std::string_view key, T& value, std::string_view meaning) {
    return quantity(Dimension::power_W, key, value, meaning).at_least(0);
  }
  /// A time of at least 0, or a number, as the unit of amounts says. T: double or std::optional<double>.
  template <class T>
  Field& amount(std::string_view key, T& value, std::string_view meaning);
  /// The same where a sibling decides after reading.
  Field& amount(std::string_view key, std::optional<Amount>& value, std::string_view meaning);
  /// A list of amounts.
  Field& amounts(std::string_view key, std::optional<std::vector<double>>& values, std::string_view meaning,
                 std::string_view each);

  /// T: int, std::int64_t, std::uint64_t or std::optional of one.
  template <class T>
  Field& whole(std::string_view key, T& value, std::string_view meaning);
  Field& flag(std::string_view key, bool& value, std::string_view meaning);
  Field& flag(std::string_view key, std::optional<bool>& value, std::string_view meaning);
  Field& text(std::string_view key, std::string& value, std::string_view meaning);
  Field& text(std::string_view key, std::optional<std::string>& value, std::string_view meaning);
  /// One of several names.
  Field& choice(std::string_view key, std::string& value, const std::vector<std::string>& names,
                std::string_view meaning);
  template <class Value>
  requires(!std::is_same_v<Value, std::optional<typename OptionalValue<Value>::type>>) Field& choice(
      std::string_view key, Value& value, std::initializer_list<std::pair<const char*, Value>> values,
      std::string_view meaning);
  template <class Value>
  Field& choice(std::string_view key, std::optional<Value>& value,
                std::initializer_list<std::pair<const char*, Value>> values, std::string_view meaning);
  /// T: double, std::int64_t, std::uint64_t, int, std::string.
  template <class T>
  Field& list(std::string_view key, std::vector<T>& values, std::string_view meaning, std::string_view each);
  template <class T>
  Field& list(std::string_view key, std::optional<std::vector<T>>& values, std::string_view meaning,
              std::string_view each);

  /// A struct with fields of its own; where it is optional, absent is another thing than {}.
  template <class Struct>
  Field& object(std::string_view key, Struct& value, std::string_view meaning);
  template <class Struct>
  Field& object(std::string_view key, std::optional<Struct>& value, std::string_view meaning);
  /// A list of structs.
  template <class Struct>
  Field& objects(std::string_view key, std::vector<Struct>& values, std::string_view meaning,
                 std::string_view each);

  template <class Struct>
  Field& objects(std::string_view key, std::optional<std::vector<Struct>>& values, std::string_view meaning,
                 std::string_view each);

  /// An object whose "name" chooses one of `plugins` (sim/plugin.hpp).
  template <class Plugins>
  Field& plugin(std::string_view key, RawValue& value, const Plugins& plugins, std::string_view meaning);
  /// The same where only the scenario language knows which there are: `kind` such as "graph".
  Field& plugin_of(std::string_view kind, std::string_view key, RawValue& value, std::string_view otherwise,
                   std::string_view meaning);
  /// Whatever `schema` admits, kept as it is.
  Field& raw(std::string_view key, RawValue& value, const Json& schema);

  bool only_reads() const { return purpose_ == Purpose::read; }
  /// Of the object: strict, so that other keys are errors.
  Json schema(std::string_view meaning) const;
  /// Sets what `object` has; throws ParameterError for what is unknown, missing, out of range, or of another
  /// type.
  void read(const Json& object) const;
  /// Reads the keys of `object` that are those of the fields, and removes them from it.
  void take(Json& object) const;
  /// Adds to `object` what it lacks and the struct has: defaults, and what a rule has given since.
  void write_missing(Json& object) const;

 private:
  Field& add(std::string_view key, Json schema, std::string_view meaning);
  template <class T>
  Field& add_list(std::string_view key, std::string_view meaning, std::string_view each);
  Field& add_choice(std::string_view key, const std::vector<std::string>& names, std::string_view meaning,
                    std::function<int()> get, std::function<void(std::size_t)> set);
  Field& add_object(std::string_view key, std::shared_ptr<Fields> inner, std::string_view meaning);
  Field& add_optional_object(std::string_view key, const Fields& sample, std::string_view meaning,
                             std::function<void(const Json&)> read, std::function<bool(Json&)> write);
  Field& add_objects(std::string_view key, const Fields& sample, std::string_view meaning,
                     std::string_view each, std::function<void(const Json&)> read,
                     std::function<std::size_t()> count);
  Field& add_forms(std::string_view key, RawValue& value, std::string_view meaning, std::size_t count,
                   const std::function<void(std::size_t, Json&)>& form);
  static void read_each(const Json& list, const std::function<void(std::size_t, const Json&)>& read);
  static void clear_to_empty_object(Json& json);
  /// In the schema, what is written where the file says nothing.
  static void give_default(Field& field);
  /// A field whose value may be missing: `after` it was read, and whether it is there, `before` it is
  /// written.
  static void make_optional(Field& field, std::function<void()> after, std::function<bool()> before);
  /// For lists of structs of which none is another thing than an empty one.
  static void without_default(Field& field);
  static void set_reader(Field& field, std::function<void(const Json&)> read);
  void reject_unknown(const Json& object) const;

  DrawUnit amounts_;
  Purpose purpose_;
  std::deque<Field> all_;  // whose addresses stay
};

template <class Value>
requires(!std::is_same_v<Value, std::optional<typename OptionalValue<Value>::type>>) Field& Fields::choice(
    std::string_view key, Value& value, std::initializer_list<std::pair<const char*, Value>> values,
    std::string_view meaning) {
  std::vector<std::string> names;
  std::vector<Value> of_name;
  for (const auto& [name, each] : values) {
    names.emplace_back(name);
    of_name.push_back(each);
  }
  return add_choice(
      key, names, meaning,
      [&value, of_name] {
        const auto found = std::find(of_name.begin(), of_name.end(), value);
        return found == of_name.end() ? -1 : static_cast<int>(found - of_name.begin());
      },
      [&value, of_name](std::size_t chosen) { value = of_name[chosen]; });
}

template <class Value>
Field& Fields::choice(std::string_view key, std::optional<Value>& value,
                      std::initializer_list<std::pair<const char*, Value>> values, std::string_view meaning) {
  auto chosen = std::make_shared<Value>();  // shared by the reader and the writer of the field
  Field& field = choice(key, *chosen, values, meaning);
  make_optional(
      field, [&value, chosen] { value = *chosen; },
      [&value, chosen] {
        if (value) *chosen = *value;
        return value.has_value();
      });
  return field;
}

template <class Struct>
Field& Fields::object(std::string_view key, Struct& value, std::string_view meaning) {
  auto inner =
      std::make_shared<Fields>(amounts_, purpose_);  // shared by the reader and the writer of the field
  value.fields(*inner);
  return add_object(key, std::move(inner), meaning);
}

template <class Struct>
Field& Fields::object(std::string_view key, std::optional<Struct>& value, std::string_view meaning) {
  Struct sample;
  Fields inner(amounts_, purpose_);
  if (!only_reads()) sample.fields(inner);
  return add_optional_object(
      key, inner, meaning,
      [&value](const Json& json) {
        Struct read;
        Fields of_read(DrawUnit::seconds, Purpose::read);
        read.fields(of_read);
        of_read.read(json);
        value = std::move(read);
      },
      [&value](Json& json) {
        if (!value) return false;
        Fields of_value;
        value->fields(of_value);
        clear_to_empty_object(json);
        of_value.write_missing(json);
        return true;
      });
}

template <class Struct>
Field& Fields::objects(std::string_view key, std::vector<Struct>& values, std::string_view meaning,
                       std::string_view each) {
  Struct sample;
  Fields inner(amounts_, purpose_);
  if (!only_reads()) sample.fields(inner);
  return add_objects(
      key, inner, meaning, each,
      [&values](const Json& list) {
        values.clear();
        read_each(list, [&values](std::size_t, const Json& element) {
          Struct read;
          Fields of_read(DrawUnit::seconds, Purpose::read);
          read.fields(of_read);
          of_read.read(element);
          values.push_back(std::move(read));
        });
      },
      [&values] { return values.size(); });
}

template <class Struct>
Field& Fields::objects(std::string_view key, std::optional<std::vector<Struct>>& values,
                       std::string_view meaning, std::string_view each) {
  std::vector<Struct> list;
  Field& field = objects(key, list, meaning, each);
  without_default(field);
  set_reader(field, [&values](const Json& json) {
    std::vector<Struct> read;
    read_each(json, [&read](std::size_t, const Json& element) {
      Fields of_read(DrawUnit::seconds, Purpose::read);
      read.emplace_back().fields(of_read);
      of_read.read(element);
    });
    values = std::move(read);
  });
  return field;
}

template <class Plugins>
Field& Fields::plugin(std::string_view key, RawValue& value, const Plugins& plugins,
                      std::string_view meaning) {
  return add_forms(key, value, meaning, plugins.size(),
                   [&plugins](std::size_t i, Json& form) { plugins[i].form(form); });
}

}  // namespace simsgd
