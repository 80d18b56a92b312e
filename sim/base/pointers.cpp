#include "sim/base/pointers.hpp"

#include <nlohmann/json.hpp>

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

std::optional<std::size_t> list_index(const std::string& token) {
  if (token.empty() || token.size() > 9 || token.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoul(token);
}

const nlohmann::json* value_at(const nlohmann::json& document, const std::string& pointer) {
  const nlohmann::json* value = &document;
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

}  // namespace simsgd
