// A table for people and the same for programs: in columns, in Markdown, in LaTeX, as CSV, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace simsgd::frame {}

namespace simsgd::questions {

using namespace frame;

enum class TableFormat { text, md, latex, csv, json };

struct ResultTable {
  /// For people: a sentence above, a header and rows of cells, the first `left` of them aligned left, and
  /// sentences below.
  std::string title;
  std::vector<std::string> header;
  std::size_t left = 1;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;

  /// For programs: one record for each number that is asked for, SI; null where there is none. CSV has these
  /// alone, JSON all of `facts` before them, as "rows".
  std::vector<std::string> fields;
  std::vector<std::vector<nlohmann::ordered_json>> records;
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();
};

/// Ends with a line feed. LaTeX is a tabular of booktabs, with title and notes as comments. CSV as RFC 4180
/// has it, with "\n"; a number has the shortest text that reads back as it was.
std::string formatted(const ResultTable& table, TableFormat format);

}  // namespace simsgd::questions
