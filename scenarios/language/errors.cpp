#include "scenarios/language/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"

namespace simsgd {

namespace {

std::string unescaped(const std::string& token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    text += escape ? (token[i + 1] == '1' ? '/' : '~') : token[i];
    if (escape) ++i;
  }
  return text;
}

}  // namespace

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

std::string child(const std::string& pointer, const std::string& key) {
  std::string extended = pointer + "/";
  for (const char c : key) {
    if (c == '~')
      extended += "~0";
    else if (c == '/')
      extended += "~1";
    else
      extended += c;
  }
  return extended;
}

std::string child(const std::string& pointer, std::size_t index) {
  return pointer + "/" + std::to_string(index);
}

std::string parent(const std::string& pointer) {
  const std::size_t slash = pointer.rfind('/');
  return slash == std::string::npos ? "" : pointer.substr(0, slash);
}

std::string last_key(const std::string& pointer) {
  const std::size_t slash = pointer.rfind('/');
  return slash == std::string::npos ? pointer : unescaped(pointer.substr(slash + 1));
}

std::vector<std::string> tokens(const std::string& pointer) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < pointer.size();) {
    std::size_t end = pointer.find('/', at + 1);
    if (end == std::string::npos) end = pointer.size();
    all.push_back(unescaped(pointer.substr(at + 1, end - at - 1)));
    at = end;
  }
  return all;
}

bool within(const std::string& inner, const std::string& pointer) {
  return inner.compare(0, pointer.size(), pointer) == 0 &&
         (inner.size() == pointer.size() || inner[pointer.size()] == '/');
}

namespace {

constexpr std::size_t kLongestShown = 80;
constexpr std::size_t kMostErrors = 100;  // nobody reads more, and each is compared with all before it

bool same(const InputError& a, const InputError& b) {
  return a.file == b.file && a.pointer == b.pointer && a.problem == b.problem;
}

bool any_within(const std::vector<std::string>& pointers, const std::string& pointer) {
  return std::any_of(pointers.begin(), pointers.end(),
                     [&pointer](const std::string& each) { return within(each, pointer); });
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

std::optional<std::size_t> list_index(const std::string& token) {
  if (token.empty() || token.size() > 9 || token.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoul(token);
}

const Json* value_at(const Json& document, const std::string& pointer) {
  const Json* value = &document;
  for (const std::string& token : tokens(pointer)) {
    if (value->is_object()) {
      const auto member = value->find(token);
      if (member == value->end()) return nullptr;
      value = &*member;
    } else if (value->is_array()) {
      const std::optional<std::size_t> index = list_index(token);
      if (!index || *index >= value->size()) return nullptr;
      value = &(*value)[*index];
    } else {
      return nullptr;
    }
  }
  return value;
}

void ErrorList::add(const Json& document, const Provenance& origins, const std::string& pointer,
                    const std::string& problem, const std::string& remedy) {
  const Json* found = value_at(document, pointer);
  const Origin origin = origins.at(pointer);
  add(pointer, {origin.file, origin.pointer, problem,
                found != nullptr && !pointer.empty() ? shown_value(*found) : "", remedy});
}

void ErrorList::add(const std::string& pointer, InputError error) {
  const auto known = std::find_if(errors_.begin(), errors_.end(),
                                  [&error](const InputError& other) { return same(error, other); });
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

void ErrorList::add(const ErrorList& others) {
  for (std::size_t i = 0; i < others.errors_.size(); ++i)
    for (const std::string& pointer : others.pointers_[i]) add(pointer, others.errors_[i]);
}

bool ErrorList::touches(const std::string& pointer) const {
  return std::any_of(pointers_.begin(), pointers_.end(),
                     [&pointer](const auto& touched) { return any_within(touched, pointer); });
}

void ErrorList::throw_if_any(const std::string& pointer) const {
  std::vector<InputError> thrown;
  for (std::size_t i = 0; i < errors_.size(); ++i)
    if (any_within(pointers_[i], pointer)) thrown.push_back(errors_[i]);
  if (!thrown.empty()) throw ConfigError(thrown);
}

}  // namespace simsgd
