#include "scenarios/language/axis_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/language/axes.hpp"
#include "scenarios/language/schema.hpp"
#include "sim/base/explain.hpp"
#include "sim/base/random.hpp"

namespace simsgd {

namespace {

Json written(double number, const Bound& like, bool whole) {
  if (!like.unit.empty()) return fmt::format("{} {}", number, like.unit);
  if (whole) return static_cast<std::int64_t>(std::llround(number));
  return number;
}

}  // namespace

std::optional<Bound> read_bound(const Json& value) {
  if (value.is_number()) return Bound{value.get<double>(), "", value.is_number_integer()};
  if (!value.is_string()) return std::nullopt;
  const auto text = value.get<std::string>();
  Bound bound;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), bound.number);
  if (error != std::errc()) return std::nullopt;
  bound.unit = std::string(rest, text.data() + text.size());
  bound.unit.erase(0, bound.unit.find_first_not_of(' '));
  return bound;
}

std::optional<DrawnRange> DrawnRange::read(const Json& dimension) {
  DrawnRange range;
  if (dimension.contains("values")) {
    range.values_ = dimension["values"].get<std::vector<Json>>();
    return range;
  }
  const auto from = read_bound(dimension["from"]), to = read_bound(dimension["to"]);
  if (!from || !to || from->unit != to->unit || !(from->number < to->number)) return std::nullopt;
  range.from_ = *from;
  range.to_ = *to;
  range.log_ = dimension.value("scale", "linear") == "log";
  if (range.log_ && !(from->number > 0)) return std::nullopt;
  return range;
}

Json DrawnRange::at(double share) const {
  if (!values_.empty()) {
    const auto place = static_cast<std::size_t>(share * static_cast<double>(values_.size()));
    return values_[std::min(place, values_.size() - 1)];
  }
  const bool whole = from_.whole && to_.whole;
  const double from = from_.number, to = whole ? to_.number + 1 : to_.number;
  const double number = log_ ? from * std::pow(to / from, share) : from + share * (to - from);
  if (whole) return written(std::clamp(std::floor(number), from, to_.number), from_, true);
  return written(std::stod(fmt::format("{:.6g}", number)), from_, false);
}

std::vector<Json> log_range(const Json& range) {
  const auto from = read_bound(range["from"]), to = read_bound(range["to"]);
  if (!from || !to || from->unit != to->unit || !(from->number > 0) || !(to->number > 0)) return {};
  const auto points = range["points"].get<int>();
  std::vector<Json> values;
  for (int i = 0; i < points; ++i) {
    const double exact = i == 0 ? from->number
                         : i + 1 == points
                             ? to->number
                             : from->number * std::pow(to->number / from->number, i / (points - 1.0));
    // 12 digits: 10 and not 9.999999999999998
    const double number = std::stod(fmt::format("{:.12g}", exact));
    const Json value = written(number, *from, from->whole && to->whole);
    if (values.empty() || values.back() != value) values.push_back(value);
  }
  return values;
}

std::vector<Json> linear_range(const Json& range) {
  const auto from = read_bound(range["from"]), to = read_bound(range["to"]), step = read_bound(range["step"]);
  if (!from || !to || !step || from->unit != to->unit || from->unit != step->unit) return {};
  const double steps = (to->number - from->number) / step->number;
  if (!(steps >= 0) || !(steps < static_cast<double>(kMostPoints))) return {};
  std::vector<Json> values;
  for (std::int64_t i = 0; static_cast<double>(i) <= steps + 1e-9; ++i) {
    const double number =
        std::stod(fmt::format("{:.12g}", from->number + static_cast<double>(i) * step->number));
    values.push_back(written(number, *from, from->whole && to->whole && step->whole));
  }
  return values;
}

namespace {

using Shows = std::function<bool(const std::string& key)>;

bool is_python(const Json& object) { return object.contains("name") && object["name"] == "python"; }

std::string name_of(const Json& object) {
  const auto said = [&](const char* key) { return object.contains(key) && object[key].is_string(); };
  // A method in Python is called by its function, or else by its file.
  if (is_python(object) && !said("function") && said("file"))
    return std::filesystem::path(object["file"].get<std::string>()).stem().string();
  std::string name;
  for (const char* key : {"use", "name", "function"})
    if (said(key)) name = object[key].get<std::string>();
  return name;
}

std::string text_of(const Json& value);

/// A method's text, by which no label should be: FNV-1a of it.
std::string fingerprint(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("{:08x}", hash);
}

/// "key value, key value" of the keys that are shown.
std::string members_of(const Json& object, const Shows& shows) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    if (key == "name" || key == "use" || key == "function" || !shows(key)) continue;
    text += (text.empty() ? "" : ", ") + key;
    if (key == "source" && value.is_string() && object.contains("function")) {
      text += " " + fingerprint(value.get<std::string>());
      continue;
    }
    const bool nested = value.is_structured() && text_of(value) != value.dump() &&
                        text_of(value).find(' ') != std::string::npos;
    text += nested ? " (" + text_of(value) + ")" : " " + text_of(value);
  }
  return text;
}

std::string object_text(const Json& object, const Shows& shows) {
  if (object.empty()) return "default";
  const std::string name = name_of(object), members = members_of(object, shows);
  if (name.empty()) return members;
  return text_of(name) + (members.empty() ? "" : " (" + members + ")");
}

std::string text_of(const Json& value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    return text.ends_with(".json") ? std::filesystem::path(text).stem().string() : text;
  }
  if (value.is_object())
    return object_text(value, [&](const std::string& key) { return key != "file" || !is_python(value); });
  if (!value.is_array()) return value.dump();
  if (value.empty()) return "none";
  const bool plain =
      std::none_of(value.begin(), value.end(), [](const Json& each) { return each.is_structured(); });
  if (plain) return value.dump();
  std::string text;
  for (const Json& each : value) text += (text.empty() ? "" : " + ") + text_of(each);
  return text;
}

Json value_or_null(const Json& object, const std::string& key) {
  return object.contains(key) ? object[key] : Json();
}

}  // namespace

std::string axis_label(const std::string& pointer) {
  std::string key = pointer.empty() ? "" : pointer.substr(1);
  for (const std::string ending : {"/use", "/name"})
    if (key.ends_with(ending)) key.resize(key.size() - ending.size());
  return key;
}

std::string value_label(const Json& value) { return text_of(value); }

std::map<std::string, std::string> value_labels(const std::map<std::string, const Json*>& values) {
  std::map<std::string, std::vector<const Json*>> of_name;
  for (const auto& each : values)
    if (each.second->is_object()) of_name[name_of(*each.second)].push_back(each.second);
  std::map<std::string, std::string> labels;
  for (const auto& each : values) {  // clang 14 captures no structured binding
    const std::string& json = each.first;
    const Json* const value = each.second;
    if (!value->is_object() || name_of(*value).empty()) {
      labels[json] = text_of(*value);
      continue;
    }
    const std::vector<const Json*>& namesakes = of_name[name_of(*value)];
    labels[json] = object_text(*value, [&](const std::string& key) {
      return std::ranges::any_of(namesakes, [&](const Json* other) {
        return value_or_null(*other, key) != value_or_null(*value, key);
      });
    });
  }
  return labels;
}

namespace {

Stream stream_of(std::uint64_t seed, std::size_t dimension, std::size_t draw) {
  return Stream({seed, Purpose::study_draw, static_cast<std::uint32_t>(dimension), draw});
}

std::vector<std::vector<double>> random_shares(std::size_t count, std::size_t dimensions,
                                               std::uint64_t seed) {
  std::vector<std::vector<double>> points(count, std::vector<double>(dimensions));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t d = 0; d < dimensions; ++d) points[i][d] = stream_of(seed, d, i).uniform();
  return points;
}

std::vector<std::vector<double>> sobol_shares(std::size_t count, std::size_t dimensions, std::uint64_t seed) {
  std::vector<std::uint64_t> shift;
  for (std::size_t d = 0; d < dimensions; ++d) {
    Stream stream = stream_of(seed, d, 0);
    const std::uint64_t high = stream();
    shift.push_back(high << 32 | stream());
  }
  boost::random::sobol engine(dimensions);
  std::vector<std::vector<double>> points(count, std::vector<double>(dimensions));
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      // The engine begins after the origin, without which the points are not balanced.
      const std::uint64_t bits = (i == 0 ? 0 : engine()) ^ shift[d];
      points[i][d] = static_cast<double>(bits >> 11) * 0x1p-53;
    }
  }
  return points;
}

}  // namespace

std::vector<std::vector<double>> drawn_shares(const std::string& method, std::size_t count,
                                              std::size_t dimensions, std::uint64_t seed) {
  return method == "sobol" ? sobol_shares(count, dimensions, seed) : random_shares(count, dimensions, seed);
}

namespace {

const std::vector<std::string> kComparisons = {"above", "at_least", "at_most", "below", "not"};

bool is_pointer(const std::string& key) { return !key.empty() && key[0] == '/'; }

/// Whether setting `pointer` can change what is at or below the section.
bool touches(const std::string& pointer, const std::string& section) {
  return within(pointer, "/" + section) || pointer == "/" + section;
}

bool equal(const Json& found, const Json& wanted) {
  if (found == wanted) return true;
  return found.is_object() && wanted.is_string() && found.value("name", Json()) == wanted;
}

bool any_equal(const Json& found, const Json& wanted) {
  if (!wanted.is_array()) return equal(found, wanted);
  return std::any_of(wanted.begin(), wanted.end(), [&](const Json& each) { return equal(found, each); });
}

/// Numbers with their units: none where the units differ.
std::optional<double> difference(const Json& found, const Json& wanted) {
  const auto a = read_bound(found), b = read_bound(wanted);
  if (!a || !b || a->unit != b->unit) return std::nullopt;
  return a->number - b->number;
}

bool compares(const std::string& comparison, const Json& found, const Json& wanted) {
  if (comparison == "not") return !any_equal(found, wanted);
  const auto by = difference(found, wanted);
  if (!by) return false;
  if (comparison == "above") return *by > 0;
  if (comparison == "at_least") return *by >= 0;
  return comparison == "at_most" ? *by <= 0 : *by < 0;
}

bool meets(const Json& found, const Json& wanted) {
  if (!wanted.is_object()) return any_equal(found, wanted);
  return std::all_of(wanted.items().begin(), wanted.items().end(),
                     [&](const auto& each) { return compares(each.key(), found, each.value()); });
}

bool only_nots(const Json& wanted) {
  return wanted.is_object() && wanted.size() == 1 && wanted.contains("not");
}

/// What is wrong with the value that a key is compared with: problem and remedy, or two empty texts.
std::pair<std::string, std::string> wrong_value(const Json& wanted) {
  const auto is_plain = [](const Json& value) { return !value.is_structured(); };
  if (is_plain(wanted)) return {};
  if (wanted.is_array() && !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), is_plain)) return {};
  if (wanted.is_array())
    return {"is not a list to compare with", "Write texts, numbers, true or false, one at least"};
  for (const auto& [key, value] : wanted.items()) {
    if (std::ranges::find(kComparisons, key) == kComparisons.end())
      return {fmt::format("compares with \"{}\"", key), "Write " + one_of(kComparisons)};
    if (key == "not" && !wrong_value(value).first.empty()) return wrong_value(value);
    if (key != "not" && !read_bound(value))
      return {fmt::format("has no number in \"{}\"", key), "Write a number, or text with a unit"};
  }
  if (wanted.empty()) return {"compares with nothing", "Write " + one_of(kComparisons)};
  return {};
}

/// A value, a list of values or comparisons, with texts that are quantities as numbers.
Json wanted_in_si(const Json* schema, Json wanted) {
  if (schema == nullptr) return wanted;
  if (!wanted.is_structured()) return in_si(*schema, std::move(wanted));
  for (Json& each : wanted) each = wanted_in_si(schema, std::move(each));
  return wanted;
}

}  // namespace

const Conditions::Section& Conditions::section(const std::string& name, const Chosen& chosen) {
  std::string key = name;
  std::vector<std::size_t> relevant;
  for (std::size_t i = 0; i < chosen.values.size(); ++i) {
    const std::vector<std::string>& pointers = chosen.axes[i].pointers;
    if (std::ranges::none_of(pointers, [&](const std::string& each) { return touches(each, name); }))
      continue;
    relevant.push_back(i);
    key += fmt::format("/{}:{}", i, chosen.values[i]);
  }
  if (const auto before = sections_.find(key); before != sections_.end()) return before->second;
  std::vector<Assignment> all;
  for (const std::size_t i : relevant)
    for (const Assignment& each : chosen.of(i).sets)
      if (touches(each.pointer, name)) all.push_back(each);
  StudySection got = read_(name, all);
  Section made{std::move(got.value), part_schema(resolved_schema(), name), std::move(got.uses)};
  if (made.schema != nullptr) made.value = in_si(*made.schema, std::move(made.value));
  return sections_.emplace(key, std::move(made)).first->second;
}

void Conditions::check(const Json& condition, const std::string& pointer, const std::vector<StudyAxis>& axes,
                       std::size_t known, const Complain& complain) const {
  if (condition.is_array()) {
    for (std::size_t i = 0; i < condition.size(); ++i)
      check(condition[i], child(pointer, i), axes, known, complain);
    return;
  }
  std::vector<std::string> names, later;
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const std::string& column : axes[i].columns) (i < known ? names : later).push_back(column);
  for (const auto& [key, wanted] : condition.items()) {
    const std::string at = child(pointer, key);
    if (const auto [problem, remedy] = wrong_value(wanted); !problem.empty()) complain(at, problem, remedy);
    if (is_pointer(key) || std::ranges::find(names, key) != names.end()) continue;
    if (std::ranges::find(later, key) != later.end()) {
      complain(at, "names an axis that does not come before this one", "Put the other axis first");
      continue;
    }
    complain(at, "names no axis and is not a pointer",
             suggestion(key, names) +
                 (names.empty()
                      ? "Write a pointer such as \"/cluster/workers\""
                      : "Axes here: " + one_of(names) + "; or write a pointer such as \"/cluster/workers\""));
  }
}

bool Conditions::hold(const Json& condition, const std::string& pointer, const Chosen& chosen) {
  if (!condition.is_array()) return holds_all(condition, pointer, chosen);
  bool any = false;
  for (std::size_t i = 0; i < condition.size() && !any; ++i)
    any = holds_all(condition[i], child(pointer, i), chosen);
  return any;
}

bool Conditions::holds_all(const Json& condition, const std::string& pointer, const Chosen& chosen) {
  return std::all_of(condition.items().begin(), condition.items().end(), [&](const auto& each) {
    return holds_at(each.key(), each.value(), child(pointer, each.key()), chosen);
  });
}

bool Conditions::holds_at(const std::string& key, const Json& wanted, const std::string& pointer,
                          const Chosen& chosen) {
  if (!is_pointer(key)) {
    for (std::size_t i = 0; i < chosen.values.size(); ++i) {
      const std::vector<std::string>& columns = chosen.axes[i].columns;
      const auto column = std::ranges::find(columns, key) - columns.begin();
      if (column == static_cast<std::ptrdiff_t>(columns.size())) continue;
      const AxisValue& value = chosen.of(i);
      const auto c = static_cast<std::size_t>(column);
      const Json& set = value.coordinates[c].value;
      if (only_nots(wanted)) return meets(set, wanted) && meets(value.labels[c], wanted);
      return meets(set, wanted) || (!wanted.is_object() && any_equal(value.labels[c], wanted));
    }
    return false;
  }
  auto& [name, found] = found_[pointer];
  name = key;
  const std::vector<std::string> path = tokens(key);
  const Section& section = this->section(path.front(), chosen);
  if (path.back() == "use") {
    const auto used = section.uses.find(parent(key));
    found = found || used != section.uses.end();
    return used == section.uses.end() ? only_nots(wanted) : meets(used->second, wanted);
  }
  const Json* value = &section.value;
  if (path.size() > 1) value = value_at(section.value, key.substr(key.find('/', 1)));
  found = found || value != nullptr;
  if (value == nullptr) return only_nots(wanted);
  const Json* schema = section.schema == nullptr
                           ? nullptr
                           : schema_at(*section.schema, section.value, {path.begin() + 1, path.end()});
  return meets(*value, wanted_in_si(schema, wanted));
}

std::vector<std::pair<std::string, std::string>> Conditions::never_found() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [at, key] : found_)
    if (!key.second) all.emplace_back(at, key.first);
  return all;
}

}  // namespace simsgd
