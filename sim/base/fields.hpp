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
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/units.hpp"

// clang-tidy 14 does not see that templates move these.
// NOLINTBEGIN(performance-unnecessary-value-param)
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
  static constexpr bool optional = false;
};
template <class T>
struct OptionalValue<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};
template <>
struct OptionalValue<Cost> {
  using type = double;
  static constexpr bool optional = true;
};

class Fields {
 public:
  /// `amounts`: what an `amount` measures here.
  explicit Fields(DrawUnit amounts = DrawUnit::seconds) : amounts_(amounts) {}

  // Any of these values may be a std::optional. A number is a double, or a Cost.
  template <class T>
  Field& number(std::string_view key, T& value, Words meaning) {
    return plain(key, value, std::move(meaning));
  }
  /// An int, std::int64_t or std::uint64_t of at least 0.
  template <class T>
  Field& whole(std::string_view key, T& value, Words meaning) {
    return plain(key, value, std::move(meaning));
  }
  template <class T>
  Field& flag(std::string_view key, T& value, Words meaning) {
    return plain(key, value, std::move(meaning));
  }
  template <class T>
  Field& text(std::string_view key, T& value, Words meaning) {
    return plain(key, value, std::move(meaning));
  }
  template <class T>
  Field& quantity(Dimension dimension, std::string_view key, T& value, Words meaning);
  /// At least 0, as all that follow but bandwidths, which are above 0.
  template <class T>
  Field& time(std::string_view key, T& value, Words meaning) {
    return quantity(Dimension::time_s, key, value, std::move(meaning)).at_least(0);
  }
  template <class T>
  Field& bytes(std::string_view key, T& value, Words meaning) {
    return quantity(Dimension::bytes, key, value, std::move(meaning)).at_least(0);
  }
  template <class T>
  Field& bandwidth(std::string_view key, T& value, Words meaning) {
    return quantity(Dimension::rate_Bps, key, value, std::move(meaning)).above(0);
  }
  template <class T>
  Field& flop(std::string_view key, T& value, Words meaning) {
    return quantity(Dimension::flop, key, value, std::move(meaning)).at_least(0);
  }
  template <class T>
  Field& flops(std::string_view key, T& value, Words meaning) {
    return quantity(Dimension::rate_flops, key, value, std::move(meaning)).at_least(0);
  }
  template <class T>
  Field& power(std::string_view key, T& value, Words meaning) {
    return quantity(Dimension::power_W, key, value, std::move(meaning)).at_least(0);
  }
  /// A time of at least 0, or a number, as the unit of amounts says.
  template <class T>
  Field& amount(std::string_view key, T& value, Words meaning);
  /// The same where a sibling decides after reading.
  Field& amount(std::string_view key, std::optional<Amount>& value, Words meaning);
  /// A list of amounts.
  Field& amounts(std::string_view key, std::optional<std::vector<double>>& values, Words meaning, Words each);

  /// One of several names.
  Field& choice(std::string_view key, std::string& value, const std::vector<std::string>& names,
                Words meaning) {
    return add_choice(
        key, names, std::move(meaning),
        [&value, names] { return std::find(names.begin(), names.end(), value) - names.begin(); },
        [&value, names](std::size_t chosen) { value = names[chosen]; });
  }
  template <class T>
  Field& choice(std::string_view key, T& value,
                std::initializer_list<std::pair<const char*, typename OptionalValue<T>::type>> values,
                Words meaning);
  /// A list of numbers, whole numbers or texts.
  template <class List>
  Field& list(std::string_view key, List& values, Words meaning, Words each);

  /// A struct with fields of its own; where it is optional, absent is another thing than {}.
  template <class Struct>
  Field& object(std::string_view key, Struct& value, Words meaning);
  template <class Struct>
  Field& object(std::string_view key, std::optional<Struct>& value, Words meaning);
  /// A list of structs.
  template <class List>
  Field& objects(std::string_view key, List& values, Words meaning, Words each);

  /// An object whose "name" chooses one of `plugins` (sim/plugin.hpp), which outlive this.
  template <class Plugins>
  Field& plugin(std::string_view key, RawValue& value, const Plugins& plugins, Words meaning) {
    return add_forms(key, value, std::move(meaning), plugins.size(),
                     [&plugins](std::size_t i, Json& form) { plugins[i].form(form); });
  }
  /// The same where only the scenario language knows which there are: `kind` such as "graph".
  Field& plugin_of(const char* kind, std::string_view key, RawValue& value, std::string_view otherwise,
                   Words meaning);
  /// Whatever `schema` admits, kept as it is.
  Field& raw(std::string_view key, RawValue& value, std::function<Json()> schema);
  Field& raw(std::string_view key, RawValue& value, const Json& schema);

  /// Of the object: strict, so that other keys are errors.
  Json schema(const std::string& meaning) const;
  /// Sets what `object` has; throws ParameterError for what is unknown, missing, out of range, or of another
  /// type: the first thing that the schema finds wrong (explain.hpp).
  void read(const Json& object) const;
  /// The same, and false where something is wrong. A "name" is not looked at.
  bool set(const Json& object) const;
  /// Reads the keys of `object` that are those of the fields, and removes them from it.
  void take(Json& object) const;
  /// Adds to `object` what it lacks and the struct has: defaults, and what a rule has given since.
  void write_missing(Json& object) const;

 private:
  Field& add(std::string_view key, Words meaning, std::function<Json()> schema);
  template <class T>
  Field& plain(std::string_view key, T& value, Words meaning);
  /// `get`: the place of the value among the names, or none of them.
  Field& add_choice(std::string_view key, const std::vector<std::string>& names, Words meaning,
                    std::function<std::ptrdiff_t()> get, std::function<void(std::size_t)> set);
  Field& add_object(std::string_view key, const std::shared_ptr<Fields>& inner, Words meaning);
  using Sample = std::function<std::shared_ptr<const Fields>()>;
  Field& add_optional_object(std::string_view key, Words meaning, Sample sample,
                             std::function<bool(const Json&)> read, std::function<bool(Json&)> write);
  Field& add_objects(std::string_view key, Words meaning, Words each, Sample sample,
                     std::function<bool(const Json&)> read, std::function<bool()> is_empty);
  Field& add_forms(std::string_view key, RawValue& value, Words meaning, std::size_t count,
                   std::function<void(std::size_t, Json&)> form);
  static bool for_each(const Json& list, const std::function<bool(const Json&)>& read);
  /// The fields of a struct as it is without a file, which they keep.
  template <class Struct>
  static std::shared_ptr<const Fields> sample_of(DrawUnit amounts);
  template <class Struct>
  static bool set_struct(Struct& value, DrawUnit amounts, const Json& json) {
    Fields fields(amounts);
    value.fields(fields);
    return fields.set(json);
  }

  DrawUnit amounts_;
  std::deque<Field> all_;  // whose addresses stay
};

template <class T>
Field& Fields::choice(std::string_view key, T& value,
                      std::initializer_list<std::pair<const char*, typename OptionalValue<T>::type>> values,
                      Words meaning) {
  std::vector<std::string> names;
  std::vector<typename OptionalValue<T>::type> of_name;
  for (const auto& [name, each] : values) {
    names.emplace_back(name);
    of_name.push_back(each);
  }
  return add_choice(
      key, names, std::move(meaning),
      [&value, of_name] { return std::find(of_name.begin(), of_name.end(), value) - of_name.begin(); },
      [&value, of_name](std::size_t chosen) { value = of_name[chosen]; });
}

template <class Struct>
std::shared_ptr<const Fields> Fields::sample_of(DrawUnit amounts) {
  struct Sample {
    explicit Sample(DrawUnit unit) : fields(unit) { value.fields(fields); }
    Struct value;
    Fields fields;
  };
  auto sample = std::make_shared<Sample>(amounts);
  return {sample, &sample->fields};
}

template <class Struct>
Field& Fields::object(std::string_view key, Struct& value, Words meaning) {
  auto inner = std::make_shared<Fields>(amounts_);  // shared by the reader and the writer of the field
  value.fields(*inner);
  return add_object(key, inner, std::move(meaning));
}

template <class Struct>
Field& Fields::object(std::string_view key, std::optional<Struct>& value, Words meaning) {
  return add_optional_object(
      key, std::move(meaning), [unit = amounts_] { return sample_of<Struct>(unit); },
      [&value, unit = amounts_](const Json& json) {
        value = Struct();
        return set_struct(*value, unit, json);
      },
      [&value](Json& json) {
        if (!value) return false;
        Fields of_value;
        value->fields(of_value);
        of_value.write_missing(json);
        return true;
      });
}

template <class List>
Field& Fields::objects(std::string_view key, List& values, Words meaning, Words each) {
  using Structs = typename OptionalValue<List>::type;
  using Struct = typename Structs::value_type;
  return add_objects(
      key, std::move(meaning), std::move(each), [unit = amounts_] { return sample_of<Struct>(unit); },
      [&values, unit = amounts_](const Json& list) {
        Structs read;
        const bool right = for_each(
            list, [&](const Json& element) { return set_struct(read.emplace_back(), unit, element); });
        values = std::move(read);
        return right;
      },
      [&values] {
        (void)values;  // where the first branch is compiled
        if constexpr (OptionalValue<List>::optional)
          return false;
        else
          return values.empty();
      });
}

}  // namespace simsgd
// NOLINTEND(performance-unnecessary-value-param)
