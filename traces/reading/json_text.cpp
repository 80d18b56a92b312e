#include "traces/reading/json_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/measurements.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

// Brackets outside of texts: before anything is made of a document.
int deepest_level(std::string_view text) {
  int level = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if (c == '{' || c == '[') deepest = std::max(deepest, ++level);
    if (c == '}' || c == ']') --level;
  }
  return deepest;
}

// "line 3, column 7: unexpected end of input" of the library's sentence.
std::string place_and_problem(const std::string& sentence) {
  const std::size_t at = sentence.find("] ");
  std::string text = at == std::string::npos ? sentence : sentence.substr(at + 2);
  constexpr std::string_view kPrefix = "parse error at ";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return printable(text);
}

}  // namespace

JsonProblem json_problem(const std::string& sentence) {
  const std::string what = place_and_problem(sentence);
  if (sentence.find("out_of_range") != std::string::npos)
    return {"holds a number that is too large, " + what, "Write numbers below 1.8e308"};
  const bool cut = what.find("unexpected end of input") != std::string::npos;
  const bool bytes = what.find("UTF-8") != std::string::npos;
  return {"is not valid JSON, " + what, cut     ? "The file ends too early: copy or write it again"
                                        : bytes ? "Write the text in UTF-8"
                                                : "Mend the text there, or name its format with --format"};
}

nlohmann::json parse_document(std::string_view text, const std::string& name, bool comments) {
  if (deepest_level(text) > kDeepestJson)
    throw ConfigError({name, "", fmt::format("is nested deeper than {} levels", kDeepestJson), "",
                       "Check its brackets and braces"});
  try {
    return nlohmann::json::parse(text, nullptr, true, comments);
  } catch (const nlohmann::json::exception& error) {
    const JsonProblem problem = json_problem(error.what());
    throw ConfigError({name, "", problem.problem, "", problem.remedy});
  }
}

nlohmann::json parse_line(std::string_view text) {
  if (deepest_level(text) > kDeepestJson) return nlohmann::json(nlohmann::json::value_t::discarded);
  try {
    return nlohmann::json::parse(text, nullptr, false);
  } catch (const nlohmann::json::exception&) {  // a number that is too large
    return nlohmann::json(nlohmann::json::value_t::discarded);
  }
}

const nlohmann::json& member(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get_ref<const std::string&>() : std::string();
}

double number_of(const nlohmann::json& value) {
  double number = 0;
  if (value.is_number()) return value.get<double>();
  return value.is_string() && read_number(value.get_ref<const std::string&>(), number) ? number : kNotGiven;
}

int count_of(const nlohmann::json& value, int least, int otherwise) {
  const double number = number_of(value);
  if (!(number >= least && number <= 2147483647) || std::trunc(number) != number) return otherwise;
  return static_cast<int>(number);
}

}  // namespace simsgd
