#include "sim/base/printable.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace simsgd {

namespace {

/// Bytes of the UTF-8 character that begins at `at`; 0 where none does.
std::size_t length_of_character(const std::string& text, std::size_t at) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead < 0xE0                 ? 0
                             : lead < 0xF0                 ? 3
                                                           : 4;
  if (length == 0 || lead > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = at + 1; i < at + length; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  return length;
}

/// The code of a control character (C0, DEL, C1), -1 of any other.
int control_code(const std::string& text, std::size_t at, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (length == 1) return first < 0x20 || first == 0x7F ? first : -1;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  return length == 2 && first == 0xC2 && second < 0xA0 ? second : -1;
}

std::string written_out(const std::string& text, bool keep_lines) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = length_of_character(text, at);
    if (length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at++]));
      continue;
    }
    const int code = control_code(text, at, length);
    if (code == '\n' && !keep_lines)
      shown += "\\n";
    else if (code >= 0 && code != '\n')
      shown += fmt::format("\\u{:04x}", code);
    else
      shown += text.substr(at, length);
    at += length;
  }
  return shown;
}

}  // namespace

std::string printable(const std::string& text) { return written_out(text, false); }
std::string printable_lines(const std::string& text) { return written_out(text, true); }

std::string csv_cell(const std::string& text) {
  double number = 0;
  const char *const begin = text.data() + (text.starts_with('+') ? 1 : 0), *const end =
                                                                               text.data() + text.size();
  const bool formula = text.size() > 1 &&
                       std::string_view("=+-@").find(text.front()) != std::string_view::npos &&
                       std::from_chars(begin, end, number).ptr != end;
  const std::string shown = (formula ? "'" : "") + printable(text);
  if (shown.find_first_of(",\"") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char c : shown) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != cells.data()) line += ',';
    line += cell;
  }
  return line + "\n";
}

}  // namespace simsgd
