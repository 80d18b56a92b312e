#include "scenarios/language/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

/// The element of a list that a token names, null where it names none.
Json* element(Json& list, const std::string& token, std::string& problem) {
  if (token == "-") {
    list.push_back(nullptr);
    return &list.back();
  }
  const bool index = !token.empty() && token.size() < 10 &&
                     std::all_of(token.begin(), token.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (index && std::stoul(token) < list.size()) return &list[std::stoul(token)];
  problem = fmt::format("names element \"{}\" of a list of {}", token, list.size());
  return nullptr;
}

}  // namespace

std::pair<std::string, std::string> parse_set(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (argument.empty() || argument[0] != '/' || equals == std::string::npos)
    throw ConfigError({"--set", "", "is not of the form /pointer=value", Json(argument).dump(),
                       "Write for example /cluster/workers=8"});
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::vector<Assignment> assignments(const Overrides& overrides) {
  std::vector<Assignment> all;
  for (const auto& [pointer, text] : overrides.set) {
    Json value = Json::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    all.push_back({pointer, std::move(value), {"--set", pointer}});
  }
  if (overrides.seed) all.push_back({"/seed", *overrides.seed, {"--seed", ""}});
  return all;
}

std::string assign(Json& document, const Assignment& assignment) {
  Json* node = &document;
  std::string problem;
  for (const std::string& token : tokens(assignment.pointer)) {
    if (node->is_null()) *node = token == "-" ? Json::array() : Json::object();
    if (node->is_array())
      node = element(*node, token, problem);
    else if (node->is_object())
      node = &(*node)[token];
    else
      return fmt::format("names the member \"{}\" of something that is neither an object nor a list", token);
    if (node == nullptr) return problem;
  }
  *node = assignment.value;
  return "";
}

}  // namespace simsgd
