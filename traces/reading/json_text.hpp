// JSON that others wrote: with limits, and with errors in our words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "traces/reading/input.hpp"

namespace simsgd {

/// Deeper documents are refused: what looks at them calls itself once per level.
inline constexpr int kDeepestJson = 100;

/// What the library says of a text that it cannot read, in our words.
struct JsonProblem {
  std::string problem, remedy;
};
JsonProblem json_problem(const std::string& sentence);

/// A document. `comments`: // may stand in it. Throws ConfigError, which calls it `name`.
nlohmann::json parse_document(std::string_view text, const std::string& name, bool comments = false);

/// A line of JSON lines; discarded (is_discarded()) where it is not JSON.
nlohmann::json parse_line(std::string_view text);

/// The member of an object, null where it is none or has no such member.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);
/// As text: what is a text; "" otherwise.
std::string text_of(const nlohmann::json& value);
/// A number, also where it is written as text; kNotGiven otherwise.
double number_of(const nlohmann::json& value);
/// A whole number of at least `least`, else `otherwise`.
int count_of(const nlohmann::json& value, int least, int otherwise);

}  // namespace simsgd
