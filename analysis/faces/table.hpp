// The one table of all faces: for people (text, Markdown, LaTeX, HTML) and for programs (CSV, JSON).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
