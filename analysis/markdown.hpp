// Text and tables in Markdown.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "sim/base/printable.hpp"

namespace simsgd::markdown {

inline std::string code(const std::string& name) { return name.empty() ? "" : "`" + name + "`"; }

/// Text in which neither Markdown nor the HTML in it takes anything for its own; on one line. `_` means
/// something at the ends of words only, brackets where a link follows, and `|` in tables: see row_text().
inline std::string escaped(const std::string& text) {
  const std::string line = printable(text);
  const auto in_word = [&](std::size_t i) {
    return i < line.size() && std::isalnum(static_cast<unsigned char>(line[i])) != 0;
  };
  std::string escaped;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '<' || c == '&') {
      escaped += c == '<' ? "&lt;" : "&amp;";
      continue;
    }
    const bool between = c == '_' && i > 0 && in_word(i - 1) && in_word(i + 1);
    const bool link =
        c == ']' && i + 1 < line.size() && std::string("([:").find(line[i + 1]) != std::string::npos;
    if (link || (!between && std::string("`*_\\").find(c) != std::string::npos)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

inline std::string row_text(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? "\\|" : std::string(1, c);
    line += cell.empty() ? "|" : " |";
  }
  return line + "\n";
}

/// With an empty line before it.
inline std::string heading(const std::vector<std::string>& names) {
  std::string rule = "|";
  for (std::size_t i = 0; i < names.size(); ++i) rule += "---|";
  return "\n" + row_text(names) + rule + "\n";
}

}  // namespace simsgd::markdown
