// The kinds of field: what their schema says, how they are read and written.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "sim/base/errors.hpp"
#include "sim/base/field.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

namespace {

using fields::bounds_text;
using fields::check_bounds;
using fields::put;
using fields::read_amount;
using fields::read_number;
using fields::read_quantity;

template <class T>
struct Unwrapped {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};
template <>
struct Unwrapped<Cost> {
  using type = double;
  static constexpr bool optional = true;
};

/// Nothing where an optional value is missing.
template <class T>
std::optional<typename Unwrapped<T>::type> held(const T& value) {
  if constexpr (std::is_same_v<T, Cost>) {
    return value.known() ? std::optional<double>(value) : std::nullopt;
  } else if constexpr (Unwrapped<T>::optional) {
    return value;
  } else {
    return std::optional<T>(value);
  }
}

template <class T>
bool put(Json& json, const T& value) {
  json = value;
  return true;
}

/// The schema of a field that is only read, before it has bounds: most of what reading cost was its
/// description.
Json nothing() { return Json::object(); }

template <class T>
std::function<bool(Json&)> writer(const T& value) {
  return [&value](Json& json) {
    const auto present = held(value);
    return present && put(json, *present);
  };
}

template <class T>
constexpr std::int64_t largest() {
  return std::is_same_v<T, int> ? std::numeric_limits<std::int32_t>::max() : std::int64_t{1} << 53;
}

template <class T>
void bound(Json& schema) {
  schema["minimum"] = 0;
  schema["maximum"] = largest<T>();
}

template <class T>
T element(const std::string& key, const Json& schema, const Json& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) reject(key, "is not text", "Give text");
    return json.get<std::string>();
  } else {
    return static_cast<T>(read_number(key, schema, json));
  }
}

template <class T>
Json element_schema(std::string_view each) {
  if constexpr (std::is_same_v<T, std::string>) return {{"type", "string"}, {"description", each}};
  if constexpr (std::is_same_v<T, double>) return {{"type", "number"}, {"description", each}};
  if constexpr (std::is_integral_v<T>)
    return {{"type", "integer"}, {"minimum", 0}, {"maximum", largest<T>()}, {"description", each}};
}

template <class T>
Json list_schema(std::string_view each, bool only_reads) {
  if (!only_reads) return {{"type", "array"}, {"items", element_schema<T>(each)}};
  Json schema = nothing();
  schema["items"] = nothing();
  if constexpr (std::is_integral_v<T>) bound<T>(schema["items"]);
  return schema;
}

template <class T>
std::vector<T> read_list(const std::string& key, const Json& schema, const Json& json) {
  if (!json.is_array()) reject(key, "is not a list", "Give a list");
  if (json.size() < schema.value("minItems", std::size_t{0}))
    reject(key, "is too short", fmt::format("Give at least {} of them", schema["minItems"].dump()));
  std::vector<T> values;
  for (std::size_t i = 0; i < json.size(); ++i)
    values.push_back(element<T>(fmt::format("{}/{}", key, i), schema["items"], json[i]));
  return values;
}

}  // namespace

template <class T>
Field& Fields::number(std::string_view key, T& value, std::string_view meaning) {
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "number"}}, meaning);
  field.write_ = writer(value);
  if (Json otherwise; !only_reads() && field.write_(otherwise))
    field.schema()["default"] = std::move(otherwise);
  field.read_ = [&value, &field](const Json& json) { value = read_number(field.key_, field.schema(), json); };
  return field;
}

template <class T>
Field& Fields::quantity(Dimension dimension, std::string_view key, T& value, std::string_view meaning) {
  Field& field =
      add(key,
          only_reads() ? nothing()
                       : Json{{"type", {"number", "string"}}, {"x-quantity", dimension_name(dimension)}},
          meaning);
  field.write_ = writer(value);
  if (Json otherwise; !only_reads() && field.write_(otherwise))
    field.schema()["default"] = std::move(otherwise);
  field.read_ = [&value, &field, dimension](const Json& json) {
    value = read_quantity(field.key_, field.schema(), dimension, json);
  };
  return field;
}

template <class T>
Field& Fields::amount(std::string_view key, T& value, std::string_view meaning) {
  Field& field =
      amounts_ == DrawUnit::seconds ? time(key, value, meaning) : number(key, value, meaning).at_least(0);
  field.read_ = [&value, &field, unit = amounts_](const Json& json) {
    value = read_amount(field.key_, field.schema(), unit, json);
  };
  return field;
}

Field& Fields::amounts(std::string_view key, std::optional<std::vector<double>>& values,
                       std::string_view meaning, std::string_view each) {
  double sample = 0;
  Fields inner(amounts_, purpose_);
  inner.amount("each", sample, each).required();
  Field& field = add(key, {{"type", "array"}, {"items", *inner.all_.front().schema_}}, meaning);
  field.write_ = writer(values);
  field.read_ = [&values, &field, unit = amounts_](const Json& json) {
    if (!json.is_array()) reject(field.key_, "is not a list", "Give a list");
    values.emplace();
    for (std::size_t i = 0; i < json.size(); ++i)
      values->push_back(
          read_amount(fmt::format("{}/{}", field.key_, i), field.schema()["items"], unit, json[i]));
  };
  return field;
}

Field& Fields::amount(std::string_view key, std::optional<Amount>& value, std::string_view meaning) {
  Field& field = add(key, {{"type", {"number", "string"}}, {"x-quantity", "time"}, {"minimum", 0}}, meaning);
  field.write_ = [](Json&) { return false; };
  field.read_ = [&value, &field](const Json& json) {
    value = Amount{read_quantity(field.key_, field.schema(), Dimension::time_s, json), json.is_string()};
  };
  return field;
}

template <class T>
Field& Fields::whole(std::string_view key, T& value, std::string_view meaning) {
  using Value = typename Unwrapped<T>::type;
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "integer"}}, meaning);
  bound<Value>(field.schema());
  field.write_ = writer(value);
  if (Json otherwise; !only_reads() && field.write_(otherwise))
    field.schema()["default"] = std::move(otherwise);
  field.read_ = [&value, &field](const Json& json) {
    const bool whole = json.is_number_integer() ||
                       (json.is_number() && std::trunc(json.get<double>()) == json.get<double>());
    if (!whole)
      reject(field.key_, "is not a whole number", "Give a whole number" + bounds_text(field.schema()));
    check_bounds(field.key_, field.schema(), json.get<double>(), "a whole number");
    value = json.get<Value>();
  };
  return field;
}

Field& Fields::flag(std::string_view key, bool& value, std::string_view meaning) {
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "boolean"}, {"default", value}}, meaning);
  field.write_ = writer(value);
  field.read_ = [&value, &field](const Json& json) {
    if (!json.is_boolean()) reject(field.key_, "is neither true nor false", "Give true or false");
    value = json.get<bool>();
  };
  return field;
}

Field& Fields::flag(std::string_view key, std::optional<bool>& value, std::string_view meaning) {
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "boolean"}}, meaning);
  field.write_ = writer(value);
  field.read_ = [&value, &field](const Json& json) {
    if (!json.is_boolean()) reject(field.key_, "is neither true nor false", "Give true or false");
    value = json.get<bool>();
  };
  return field;
}

Field& Fields::text(std::string_view key, std::string& value, std::string_view meaning) {
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "string"}, {"default", value}}, meaning);
  field.write_ = writer(value);
  field.read_ = [&value, &field](const Json& json) { value = element<std::string>(field.key_, {}, json); };
  return field;
}

Field& Fields::text(std::string_view key, std::optional<std::string>& value, std::string_view meaning) {
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "string"}}, meaning);
  field.write_ = writer(value);
  field.read_ = [&value, &field](const Json& json) { value = element<std::string>(field.key_, {}, json); };
  return field;
}

Field& Fields::choice(std::string_view key, std::string& value, const std::vector<std::string>& names,
                      std::string_view meaning) {
  return add_choice(
      key, names, meaning,
      [&value, names] {
        for (std::size_t i = 0; i < names.size(); ++i)
          if (names[i] == value) return static_cast<int>(i);
        return -1;
      },
      [&value, names](std::size_t chosen) { value = names[chosen]; });
}

Field& Fields::add_choice(std::string_view key, const std::vector<std::string>& names,
                          std::string_view meaning, std::function<int()> get,
                          std::function<void(std::size_t)> set) {
  Field& field = add(key, only_reads() ? nothing() : Json{{"type", "string"}, {"enum", names}}, meaning);
  field.write_ = [names, get = std::move(get)](Json& json) {
    const int chosen = get();
    if (chosen >= 0) json = names[static_cast<std::size_t>(chosen)];
    return chosen >= 0;
  };
  if (Json otherwise; !only_reads() && field.write_(otherwise))
    field.schema()["default"] = std::move(otherwise);
  field.read_ = [&field, names, set = std::move(set)](const Json& json) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (json == names[i]) return set(i);
    reject(field.key_, "is not known", "Use " + one_of(names));
  };
  return field;
}

template <class T>
Field& Fields::list(std::string_view key, std::vector<T>& values, std::string_view meaning,
                    std::string_view each) {
  Field& field = add(key, list_schema<T>(each, only_reads()), meaning);
  if (!only_reads()) field.schema()["default"] = values;
  field.write_ = writer(values);
  field.read_ = [&values, &field](const Json& json) {
    values = read_list<T>(field.key_, field.schema(), json);
  };
  return field;
}

template <class T>
Field& Fields::list(std::string_view key, std::optional<std::vector<T>>& values, std::string_view meaning,
                    std::string_view each) {
  Field& field = add(key, list_schema<T>(each, only_reads()), meaning);
  field.write_ = writer(values);
  field.read_ = [&values, &field](const Json& json) {
    values = read_list<T>(field.key_, field.schema(), json);
  };
  return field;
}

template Field& Fields::number(std::string_view, double&, std::string_view);
template Field& Fields::number(std::string_view, std::optional<double>&, std::string_view);
template Field& Fields::number(std::string_view, Cost&, std::string_view);
template Field& Fields::quantity(Dimension, std::string_view, double&, std::string_view);
template Field& Fields::quantity(Dimension, std::string_view, std::optional<double>&, std::string_view);
template Field& Fields::quantity(Dimension, std::string_view, Cost&, std::string_view);
template Field& Fields::amount(std::string_view, double&, std::string_view);
template Field& Fields::amount(std::string_view, std::optional<double>&, std::string_view);
template Field& Fields::whole(std::string_view, int&, std::string_view);
template Field& Fields::whole(std::string_view, std::int64_t&, std::string_view);
template Field& Fields::whole(std::string_view, std::uint64_t&, std::string_view);
template Field& Fields::whole(std::string_view, std::optional<int>&, std::string_view);
template Field& Fields::whole(std::string_view, std::optional<std::int64_t>&, std::string_view);
template Field& Fields::whole(std::string_view, std::optional<std::uint64_t>&, std::string_view);
template Field& Fields::list(std::string_view, std::vector<double>&, std::string_view, std::string_view);
template Field& Fields::list(std::string_view, std::vector<int>&, std::string_view, std::string_view);
template Field& Fields::list(std::string_view, std::vector<std::int64_t>&, std::string_view,
                             std::string_view);
template Field& Fields::list(std::string_view, std::vector<std::uint64_t>&, std::string_view,
                             std::string_view);
template Field& Fields::list(std::string_view, std::vector<std::string>&, std::string_view, std::string_view);
template Field& Fields::list(std::string_view, std::optional<std::vector<double>>&, std::string_view,
                             std::string_view);
template Field& Fields::list(std::string_view, std::optional<std::vector<int>>&, std::string_view,
                             std::string_view);
template Field& Fields::list(std::string_view, std::optional<std::vector<std::string>>&, std::string_view,
                             std::string_view);

}  // namespace simsgd
