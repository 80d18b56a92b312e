#include "scenarios/language/provenance.hpp"

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

}  // namespace simsgd
