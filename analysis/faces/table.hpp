// The one table of all faces: for people (text, Markdown, LaTeX, HTML) and for programs (CSV, JSON).
#pragma once

#include <cctype>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/printable.hpp"

namespace simsgd {

enum class TableFormat { text, md, latex, html, csv, json };

struct Table {
  /// For people: a sentence above, a header and rows of cells, and sentences below.
  std::string title;
  std::vector<std::string> header;
  /// A letter for each column: l aligns it left, r right, as those without a letter.
  std::string align = "l";
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;

  /// For programs: one record for each number that is asked for, SI; null where there is none. CSV has these
  /// alone, JSON all of `facts` before them, as "rows".
  std::vector<std::string> fields;
  std::vector<std::vector<nlohmann::ordered_json>> records;
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();

  using Record = std::vector<std::pair<std::string, nlohmann::ordered_json>>;
  /// All records have the same fields, in this order.
  void add(const Record& record);
};

/// Ends with a line feed. LaTeX is a tabular of booktabs, with title and notes as comments; HTML a table with
/// its title as caption, and paragraphs. CSV as RFC 4180
/// has it, with "\n"; a number has the shortest text that reads back as it was.
std::string formatted(const Table& table, TableFormat format);

/// Text as HTML shows it: & < > " ' escaped.
std::string html_text(const std::string& text);

/// Header and rows alone in columns, a rule between them; without a header the rows.
std::string text_rows(const Table& table);
/// The same as Markdown, after an empty line.
std::string markdown_rows(const Table& table);

}  // namespace simsgd

namespace simsgd::markdown {

// Text and tables in Markdown.

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
