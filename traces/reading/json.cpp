#include "traces/reading/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/measurements.hpp"

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

constexpr std::size_t kBlock_bytes = std::size_t{1} << 16;
constexpr std::size_t kLongestCharacter = 4;
constexpr std::size_t kMostMended = std::size_t{1} << 20;  // before a file is looked at as a whole: /dev/zero

// RFC 3629: what the second byte may be after the first.
std::pair<unsigned char, unsigned char> second_bytes(unsigned char first) {
  if (first == 0xE0) return {0xA0, 0xBF};
  if (first == 0xED) return {0x80, 0x9F};
  if (first == 0xF0) return {0x90, 0xBF};
  if (first == 0xF4) return {0x80, 0x8F};
  return {0x80, 0xBF};
}

// Bytes of the character that begins there; 0: none does; more than there are: the rest is missing.
std::size_t character_length(const unsigned char* at, std::size_t available) {
  const unsigned char first = at[0];
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2U
                             : first >= 0xE0 && first <= 0xEF ? 3U
                             : first >= 0xF0 && first <= 0xF4 ? 4U
                                                              : 0U;
  for (std::size_t i = 1; i < std::min(length, available); ++i) {
    const auto [least, most] =
        i == 1 ? second_bytes(first) : std::pair<unsigned char, unsigned char>{0x80, 0xBF};
    if (at[i] < least || at[i] > most) return 0;
  }
  return length;
}

// Plain ASCII that needs no look.
constexpr std::array<bool, 256> plain_bytes() {
  std::array<bool, 256> plain = {};
  for (std::size_t byte = 0x20; byte < 0x80; ++byte) plain[byte] = true;
  plain['\n'] = plain['\r'] = true;
  return plain;
}
constexpr std::array<bool, 256> kPlain = plain_bytes();

// Without a branch per byte, so that many are looked at together.
constexpr std::size_t kGroup = 64;
bool plain_group(const unsigned char* bytes) {
  unsigned char other = 0;
  for (std::size_t i = 0; i < kGroup; ++i) {
    const auto below = static_cast<unsigned char>(static_cast<unsigned char>(bytes[i] - 0x20U) >= 0x60U);
    const auto line = static_cast<unsigned char>((bytes[i] == '\n') | (bytes[i] == '\r'));
    other |= static_cast<unsigned char>(below & (line ^ 1U));
  }
  return other == 0;
}

ConfigError too_deep(const std::string& name) {
  return ConfigError({name, "", fmt::format("is nested deeper than {} levels", kDeepestJson), "",
                      "Check its brackets and braces"});
}

JsonProblem json_problem(const std::string& sentence) {
  const std::string what = place_and_problem(sentence);
  if (sentence.find("out_of_range") != std::string::npos)
    return {"holds a number that is too large, " + what, "Write numbers below 1.8e308"};
  const bool cut = what.find("unexpected end of input") != std::string::npos;
  const bool bytes = what.find("UTF-8") != std::string::npos;
  return {"is not valid JSON, " + what, cut     ? "The file ends too early: copy or write it again"
                                        : bytes ? "Write the text in UTF-8"
                                                : "Correct the text there, or name its format with --format"};
}

}  // namespace

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

JsonBuffer::int_type JsonBuffer::underflow() {
  char *at = nullptr, *stop = nullptr;
  if (!bytes_.next(at, stop)) return traits_type::eof();
  setg(at, at, stop);
  return traits_type::to_int_type(*at);
}

bool JsonBytes::next(char*& at, char*& stop) {
  if (block_.empty()) block_.resize(kBlock_bytes + kLongestCharacter);
  do {
    const std::size_t kept = end_ - good_;  // the beginning of a character
    std::copy_n(block_.begin() + static_cast<std::ptrdiff_t>(good_), kept, block_.begin());
    if (piece_.empty() && !at_end_) at_end_ = !input_.piece(piece_);
    const std::size_t taken = at_end_ ? 0 : std::min(piece_.size(), kBlock_bytes);
    if (taken > 0) std::memcpy(block_.data() + kept, piece_.data(), taken);
    if (taken > 0) piece_.remove_prefix(taken);
    taken_ += taken;
    end_ = kept + taken;
    good_ = 0;
    if (end_ == 0) {
      exhausted_ = true;
      return false;
    }
    mend(at_end_);
  } while (good_ == 0);
  at = block_.data();
  stop = at + good_;
  return true;
}

void JsonBytes::mend(bool last) {
  auto* const bytes = reinterpret_cast<unsigned char*>(block_.data());
  while (good_ < end_) {
    while (good_ + kGroup <= end_ && plain_group(bytes + good_)) good_ += kGroup;
    if (good_ == end_) return;
    if (kPlain[bytes[good_]]) {
      ++good_;
      continue;
    }
    const std::size_t length = bytes[good_] < 0x80 ? 0 : character_length(bytes + good_, end_ - good_);
    if (length > end_ - good_ && !last) return;
    if (length > 0 && length <= end_ - good_) {
      good_ += length;
      continue;
    }
    mended_ += bytes[good_] == '\t' ? 0 : 1;
    if (mended_ > kMostMended && 2 * mended_ > taken_)
      throw ConfigError({input_.name(), "", "is not text: most of it is not UTF-8, or control characters", "",
                         "Name a file of JSON, compressed by gzip or not"});
    bytes[good_] = bytes[good_] < 0x20 ? ' ' : '?';
    ++good_;
  }
}

JsonEnd json_end(const JsonHandler& handler, const JsonBytes& bytes, const std::string& name) {
  if (handler.too_deep) throw too_deep(name);
  if (bytes.exhausted()) return {.cut = true, .mended = bytes.mended()};
  const JsonProblem problem = json_problem(handler.problem);
  throw ConfigError({name, "", problem.problem, "", problem.remedy});
}

void read_json_elements(Input& input, ImportedFile& file, const JsonElements& wanted) {
  using Event = nlohmann::json::parse_event_t;
  JsonBytes bytes(input);
  JsonBuffer buffer(bytes);
  std::istream stream(&buffer);
  std::string key;  // of the document
  bool in_list = false;
  // False: the parser forgets the value, or passes over that of a key.
  const auto see = [&](int depth, Event event, nlohmann::json& value) {
    if (depth >= kDeepestJson && (event == Event::object_start || event == Event::array_start))
      throw too_deep(input.name());
    const bool ends = event == Event::value || event == Event::object_end || event == Event::array_end;
    if (depth == 1 && event == Event::key) {
      key = value.get<std::string>();
      return key == wanted.list || wanted.other.contains(key);
    }
    if (depth == 1 && event == Event::array_start) in_list = key == wanted.list;
    if (depth == 2 && in_list && ends) wanted.element(value);
    if (depth == 1 && ends && wanted.other.contains(key)) wanted.value(key, value);
    if (depth == 1 && ends) in_list = false;
    return !(ends && (depth == 1 || (depth == 2 && in_list)));
  };
  try {
    [[maybe_unused]] const nlohmann::json rest = nlohmann::json::parse(stream, see);
  } catch (const nlohmann::json::exception& error) {
    const JsonProblem problem = json_problem(error.what());
    if (!bytes.exhausted()) throw ConfigError({input.name(), "", problem.problem, "", problem.remedy});
    file.ignore("truncated files, read up to their end");
  }
  if (bytes.mended() > 0)
    file.ignore("bytes that are control characters or not UTF-8, replaced", bytes.mended());
}

}  // namespace simsgd
