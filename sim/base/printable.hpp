// Text for people: counts, and what comes from outside (names in files, names of files) as a terminal may see
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simsgd {

/// "1 point", "3 points": a count with the word of what is counted.
inline std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Letters of ASCII alone, whatever the locale.
inline std::string lower_case(std::string text) {
  for (char& each : text)
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  return text;
}

/// With every control character written out as JSON does, "\u001b", and bytes that are not UTF-8 as "\x9b":
/// no name moves the cursor, changes colours or begins a line.
std::string printable(const std::string& text);

/// The same, and lines stay lines.
std::string printable_lines(const std::string& text);

/// A text in a CSV file (RFC 4180), printable; what a spreadsheet would take for a formula (=, +, - or @
/// before what is not a number) begins with an apostrophe.
std::string csv_cell(const std::string& text);
/// Cells as csv_cell, or a number's text, made them: with commas between, and a line feed at the end.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace simsgd
