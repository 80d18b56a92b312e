#include "scenarios/language/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"

namespace simsgd {

void Provenance::replace(const std::string& pointer, Origin origin) {
  auto below = origins_.lower_bound(pointer + "/");
  while (below != origins_.end() && within(below->first, pointer)) below = origins_.erase(below);
  origins_[pointer] = std::move(origin);
}

void Provenance::replace(const std::string& pointer, const Provenance& other) {
  replace(pointer, other.at(pointer));
  for (auto below = other.origins_.lower_bound(pointer + "/");
       below != other.origins_.end() && within(below->first, pointer); ++below)
    origins_.insert(*below);
}

Origin Provenance::at(const std::string& pointer) const {
  std::string ancestor = pointer;
  while (true) {
    const auto found = origins_.find(ancestor);
    if (found != origins_.end())
      return {found->second.file, found->second.pointer + pointer.substr(ancestor.size())};
    CHECK(!ancestor.empty(), "the root of a scenario has no origin");
    ancestor = parent(ancestor);
  }
}

namespace {

constexpr std::size_t kLongestShown = 80;
constexpr std::size_t kMostErrors = 100;  // nobody reads more, and each is compared with all before it

bool same(const InputError& a, const InputError& b) {
  return a.file == b.file && a.pointer == b.pointer && a.problem == b.problem;
}

bool any_within(const std::vector<std::string>& pointers, const std::string& pointer) {
  return std::ranges::any_of(pointers, [&pointer](const std::string& each) { return within(each, pointer); });
}

}  // namespace

std::string shown_value(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= kLongestShown) return text;
  if (value.is_structured()) return "";
  std::size_t cut = kLongestShown - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U)
    --cut;  // not inside a character
  return text.substr(0, cut) + "...";
}

void ErrorList::add(const Json& document, const Provenance& origins, const std::string& pointer,
                    const std::string& problem, const std::string& remedy) {
  const Json* found = value_at(document, pointer);
  const Origin origin = origins.at(pointer);
  add(pointer, {origin.file, origin.pointer, problem,
                found != nullptr && !pointer.empty() ? shown_value(*found) : "", remedy});
}

void ErrorList::add(const std::string& pointer, InputError error) {
  const auto known =
      std::ranges::find_if(errors_, [&error](const InputError& other) { return same(error, other); });
  const auto index = static_cast<std::size_t>(known - errors_.begin());
  if (known == errors_.end()) {
    if (errors_.size() == kMostErrors) {
      errors_.push_back({error.file, "", fmt::format("has more errors than these {}", kMostErrors), "",
                         "Correct these first"});
      throw ConfigError(errors_);
    }
    errors_.push_back(std::move(error));
    pointers_.emplace_back();
  }
  pointers_[index].push_back(pointer);
}

void ErrorList::add(const std::vector<Explanation>& found, const std::string& at, const Json& document,
                    const Provenance& origins, const std::set<std::string>& incomplete) {
  for (const Explanation& each : found) {
    const std::string pointer = at + each.pointer;
    if (!each.about_missing_key) {
      add(document, origins, pointer, each.problem, each.remedy);
    } else if (!incomplete.contains(pointer)) {
      const Origin origin = origins.at(pointer);
      add(pointer, {origin.file, origin.pointer, each.problem, "", each.remedy});
    }
  }
}

void ErrorList::add(const ErrorList& others) {
  for (std::size_t i = 0; i < others.errors_.size(); ++i)
    for (const std::string& pointer : others.pointers_[i]) add(pointer, others.errors_[i]);
}

bool ErrorList::touches(const std::string& pointer) const {
  return std::ranges::any_of(pointers_,
                             [&pointer](const auto& touched) { return any_within(touched, pointer); });
}

void ErrorList::throw_if_any(const std::string& pointer) const {
  std::vector<InputError> thrown;
  for (std::size_t i = 0; i < errors_.size(); ++i)
    if (any_within(pointers_[i], pointer)) thrown.push_back(errors_[i]);
  if (!thrown.empty()) throw ConfigError(thrown);
}

Json checked(const Json& schema, Json value, const Provenance& origins,
             const std::set<std::string>& incomplete, ErrorList& errors) {
  const std::vector<Explanation> found = complete(schema, value);
  errors.add(found, "", value, origins, incomplete);
  return value;
}

}  // namespace simsgd
