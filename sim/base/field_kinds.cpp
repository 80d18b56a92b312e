// The kinds of field: what their schema says, how they are read and written.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "sim/base/field.hpp"
#include "sim/base/fields.hpp"

// clang-tidy 14 does not see that templates move these.
// NOLINTBEGIN(performance-unnecessary-value-param)
namespace simsgd {

namespace {

template <class T>
using Held = typename OptionalValue<T>::type;

template <class T>
bool put(Json& json, const T& value) {
  if constexpr (std::is_same_v<T, double>)
    return fields::put(json, value);
  else
    json = value;
  return true;
}

template <class T>
std::function<bool(Json&)> writer(const T& value) {
  return [&value](Json& json) {
    if constexpr (std::is_same_v<T, Cost>)
      return value.known() && put<double>(json, value);
    else if constexpr (OptionalValue<T>::optional)
      return value && put(json, *value);
    else
      return put(json, value);
  };
}

template <class T>
constexpr bool is_whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/// Of whole numbers from 0 on; of everything else no bounds.
template <class T>
NumberRange range_of_type() {
  NumberRange range;
  if constexpr (is_whole<T>) {
    range.at_least = 0;
    range.at_most = std::is_same_v<T, int> ? std::numeric_limits<std::int32_t>::max() : 0x1p53;
  }
  return range;
}

template <class T>
Json schema_of_type() {
  const char* const type = std::is_same_v<T, std::string> ? "string"
                           : std::is_same_v<T, bool>      ? "boolean"
                           : is_whole<T>                  ? "integer"
                                                          : "number";
  return Json{{"type", type}};
}

Json schema_of(Dimension dimension) {
  return {{"type", {"number", "string"}}, {"x-quantity", dimension_name(dimension)}};
}

/// What `json` says; nothing where it is of another type, or out of range.
template <class T>
std::optional<T> read_as(const NumberRange& range, const Json& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return std::nullopt;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) return std::nullopt;
  } else {
    if (!json.is_number()) return std::nullopt;
    const double number = json.get<double>();
    if (!range.admits(number) || (is_whole<T> && std::trunc(number) != number)) return std::nullopt;
  }
  return json.get<T>();
}

std::optional<double> read_quantity(const NumberRange& range, Dimension dimension, const Json& json) {
  if (!json.is_string()) return read_as<double>(range, json);
  const ParsedQuantity parsed = parse_quantity(json.get_ref<const std::string&>(), dimension);
  return parsed.ok && range.admits(parsed.value) ? std::optional(parsed.value) : std::nullopt;
}

/// Whether there is something, which `value` then is.
template <class T, class Read>
bool assigned(T& value, std::optional<Read> read) {
  if (read) value = std::move(*read);
  return read.has_value();
}

}  // namespace

template <class T>
Field& Fields::plain(std::string_view key, T& value, Words meaning) {
  Field& field = add(key, std::move(meaning), schema_of_type<Held<T>>);
  field.range_ = range_of_type<Held<T>>();
  field.write_ = writer(value);
  field.read_ = [&value, &field](const Json& json) {
    return assigned(value, read_as<Held<T>>(field.range_, json));
  };
  return field;
}

template <class T>
Field& Fields::quantity(Dimension dimension, std::string_view key, T& value, Words meaning) {
  Field& field = add(key, std::move(meaning), [dimension] { return schema_of(dimension); });
  field.write_ = writer(value);
  field.read_ = [&value, &field, dimension](const Json& json) {
    return assigned(value, read_quantity(field.range_, dimension, json));
  };
  return field;
}

template <class T>
Field& Fields::amount(std::string_view key, T& value, Words meaning) {
  if (amounts_ == DrawUnit::seconds) return time(key, value, std::move(meaning));
  Field& field = number(key, value, std::move(meaning)).at_least(0);
  const bool relative = amounts_ == DrawUnit::relative;
  return field.note("x-problem", relative ? fields::kNotPlain : "is not a plain number")
      .note("x-write", relative ? fields::kWritePlain : "Give a factor without a unit, such as 1.5");
}

Field& Fields::amount(std::string_view key, std::optional<Amount>& value, Words meaning) {
  Field& field = add(key, std::move(meaning), [] { return schema_of(Dimension::time_s); });
  field.range_.at_least = 0;
  field.write_ = [](Json&) { return false; };
  field.read_ = [&value, &field](const Json& json) {
    const auto read = read_quantity(field.range_, Dimension::time_s, json);
    if (read) value = Amount{*read, json.is_string()};
    return read.has_value();
  };
  return field;
}

Field& Fields::amounts(std::string_view key, std::optional<std::vector<double>>& values, Words meaning,
                       Words each) {
  struct Item {
    double value = 0;
    Fields fields;
  };
  const auto item = std::make_shared<Item>(Item{0, Fields(amounts_)});
  const Field& one = item->fields.amount("each", item->value, std::move(each)).required();
  Field& field = add(key, std::move(meaning), [&one] {
    return Json{{"type", "array"}, {"items", one.described()}};
  });
  field.write_ = writer(values);
  field.read_ = [&values, &one, item](const Json& json) {
    values.emplace();
    return for_each(json, [&](const Json& element) {
      const bool right = one.read_(element);
      values->push_back(item->value);
      return right;
    });
  };
  return field;
}

Field& Fields::add_choice(std::string_view key, const std::vector<std::string>& names, Words meaning,
                          std::function<std::ptrdiff_t()> get, std::function<void(std::size_t)> set) {
  Field& field = add(key, std::move(meaning), [names] { return Json{{"type", "string"}, {"enum", names}}; });
  field.write_ = [names, get = std::move(get)](Json& json) {
    const auto chosen = static_cast<std::size_t>(get());
    if (chosen < names.size()) json = names[chosen];
    return chosen < names.size();
  };
  field.read_ = [names, set = std::move(set)](const Json& json) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (json == names[i]) return set(i), true;
    return false;
  };
  return field;
}

template <class List>
Field& Fields::list(std::string_view key, List& values, Words meaning, Words each) {
  using T = typename Held<List>::value_type;
  Field& field = add(key, std::move(meaning), [each = std::move(each)] {
    Json items = schema_of_type<T>();
    items["description"] = each.text();
    return Json{{"type", "array"}, {"items", std::move(items)}};
  });
  field.items_ = range_of_type<T>();
  field.write_ = writer(values);
  field.read_ = [&values, &field](const Json& json) {
    Held<List> read;
    const bool right = for_each(json, [&](const Json& element) {
      auto one = read_as<T>(field.items_, element);
      if (one) read.push_back(std::move(*one));
      return one.has_value();
    });
    values = std::move(read);
    return right && json.size() >= field.least_items_;
  };
  return field;
}

template Field& Fields::plain(std::string_view, double&, Words);
template Field& Fields::plain(std::string_view, std::optional<double>&, Words);
template Field& Fields::plain(std::string_view, Cost&, Words);
template Field& Fields::plain(std::string_view, int&, Words);
template Field& Fields::plain(std::string_view, std::int64_t&, Words);
template Field& Fields::plain(std::string_view, std::uint64_t&, Words);
template Field& Fields::plain(std::string_view, std::optional<int>&, Words);
template Field& Fields::plain(std::string_view, std::optional<std::int64_t>&, Words);
template Field& Fields::plain(std::string_view, std::optional<std::uint64_t>&, Words);
template Field& Fields::plain(std::string_view, bool&, Words);
template Field& Fields::plain(std::string_view, std::optional<bool>&, Words);
template Field& Fields::plain(std::string_view, std::string&, Words);
template Field& Fields::plain(std::string_view, std::optional<std::string>&, Words);
template Field& Fields::quantity(Dimension, std::string_view, double&, Words);
template Field& Fields::quantity(Dimension, std::string_view, std::optional<double>&, Words);
template Field& Fields::quantity(Dimension, std::string_view, Cost&, Words);
template Field& Fields::amount(std::string_view, double&, Words);
template Field& Fields::amount(std::string_view, std::optional<double>&, Words);
template Field& Fields::list(std::string_view, std::vector<double>&, Words, Words);
template Field& Fields::list(std::string_view, std::vector<int>&, Words, Words);
template Field& Fields::list(std::string_view, std::vector<std::int64_t>&, Words, Words);
template Field& Fields::list(std::string_view, std::vector<std::uint64_t>&, Words, Words);
template Field& Fields::list(std::string_view, std::vector<std::string>&, Words, Words);
template Field& Fields::list(std::string_view, std::optional<std::vector<double>>&, Words, Words);
template Field& Fields::list(std::string_view, std::optional<std::vector<int>>&, Words, Words);
template Field& Fields::list(std::string_view, std::optional<std::vector<std::string>>&, Words, Words);

}  // namespace simsgd
// NOLINTEND(performance-unnecessary-value-param)
