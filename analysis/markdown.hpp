// Tables in Markdown.
#pragma once

#include <string>
#include <vector>

namespace simsgd::markdown {

inline std::string code(const std::string& name) { return name.empty() ? "" : "`" + name + "`"; }

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
