#include "traces/reading/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace simsgd {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string small_letters(std::string_view text) {
  std::string letters(text);
  for (char& c : letters)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return letters;
}

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

char first_character(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? '\0' : head[first];
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) return;
    const char* const begin = at;
    while (at != end && !is_blank(*at)) ++at;
    words.emplace_back(begin, static_cast<std::size_t>(at - begin));
  }
}

bool read_number(std::string_view text, double& value) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && std::isfinite(value);
}

bool read_count(std::string_view text, int least, int& value) {
  double number = 0;
  if (!read_number(text, number) || number < least || number > 2147483647 || std::trunc(number) != number)
    return false;
  value = static_cast<int>(number);
  return true;
}

bool read_list(std::string_view text, std::vector<double>& values, char separator) {
  values.clear();
  text = trimmed(text);
  const bool list = text.starts_with('[') && text.ends_with(']') && text.size() > 1;
  if (list) text = text.substr(1, text.size() - 2);
  if (list && trimmed(text).empty()) return true;
  for (;;) {
    const std::size_t end = list ? text.find(separator) : std::string_view::npos;
    double value = 0;
    if (!read_number(trimmed(text.substr(0, end)), value)) return false;
    values.push_back(value);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

std::string_view word_after(std::string_view text, std::string_view after) {
  const std::size_t at = text.find(after);
  if (at == std::string_view::npos) return {};
  text = trimmed(text.substr(at + after.size()));
  return text.substr(0, std::min(text.find(' '), text.find('\t')));
}

bool number_after(std::string_view text, std::string_view after, double& value) {
  return read_number(word_after(text, after), value);
}

std::string_view without_process(std::string_view line) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < line.size() && is_digit(line[at])) ++at;
    return at > from;
  };
  const auto literal = [&](std::string_view text) {
    if (!line.substr(at).starts_with(text)) return false;
    at += text.size();
    return true;
  };
  if (line.starts_with('[')) {
    at = 1;
    if (digits() && literal(",") && digits() && literal("]<std") && (literal("out") || literal("err")) &&
        literal(">:"))
      return line.substr(at);
    return line;
  }
  while (at < line.size() && line[at] == ' ') ++at;
  return digits() && literal(": ") ? line.substr(at) : line;
}

bool unit_scale(std::string_view unit, Dimension dimension, double& scale) {
  if (dimension == Dimension::number) {
    scale = unit == "%" ? 0.01 : 1;
    return unit == "%" || unit == "1" || (unit.ends_with("/s") && unit.size() > 2);
  }
  const ParsedQuantity parsed =
      unit.empty() ? ParsedQuantity{} : parse_quantity("1 " + std::string(unit), dimension);
  scale = parsed.value;
  return parsed.ok && parsed.value > 0;
}

// 1e-6 is not a double, 1e6 is one.
double in_si(double value, double scale) {
  const double parts = std::round(1 / scale);
  return scale < 1 && 1 / parts == scale ? value / parts : value * scale;
}

}  // namespace simsgd
