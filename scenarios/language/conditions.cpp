#include "scenarios/language/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/axis_values.hpp"
#include "scenarios/language/explain.hpp"
#include "scenarios/language/schema.hpp"

namespace simsgd {

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
    if (std::find(kComparisons.begin(), kComparisons.end(), key) == kComparisons.end())
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
    if (std::none_of(pointers.begin(), pointers.end(),
                     [&](const std::string& each) { return touches(each, name); }))
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
    if (is_pointer(key) || std::find(names.begin(), names.end(), key) != names.end()) continue;
    if (std::find(later.begin(), later.end(), key) != later.end()) {
      complain(at, "names an axis that does not come before this one", "Put the other axis first");
      continue;
    }
    const std::string guess = nearest(key, names);
    complain(at, "names no axis and is not a pointer",
             (guess.empty() ? "" : fmt::format("Did you mean \"{}\"? ", guess)) +
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
      const auto column = std::find(columns.begin(), columns.end(), key) - columns.begin();
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
