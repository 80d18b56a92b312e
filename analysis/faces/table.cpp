#include "analysis/faces/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "results/text_table.hpp"
#include "sim/base/field.hpp"

namespace simsgd {

namespace {

char align_of(const Table& table, std::size_t column) {
  return column < table.align.size() ? table.align[column] : 'r';
}

std::string csv_value(const OrderedJson& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value.get<std::string>()) : value.dump();
}

std::string as_csv(const Table& table) {
  const auto line = [](const auto& cells, const auto& text_of) {
    std::vector<std::string> texts;
    std::transform(cells.begin(), cells.end(), std::back_inserter(texts), text_of);
    return csv_line(texts);
  };
  std::string text = line(table.fields, csv_cell);
  for (const std::vector<OrderedJson>& record : table.records) text += line(record, csv_value);
  return text;
}

std::string as_json(const Table& table) {
  OrderedJson json = table.facts;
  json["rows"] = OrderedJson::array();
  for (const std::vector<OrderedJson>& record : table.records) {
    OrderedJson row = OrderedJson::object();
    for (std::size_t i = 0; i < record.size(); ++i) row[table.fields[i]] = record[i];
    json["rows"].push_back(std::move(row));
  }
  json["notes"] = table.notes;
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string as_markdown(const Table& table) {
  std::string text = markdown::escaped(table.title) + "\n" + markdown_rows(table);
  for (const std::string& note : table.notes) text += "\n" + markdown::escaped(note) + "\n";
  return text;
}

/// Text that LaTeX takes literally; what stands for a comparison or an interval as mathematics.
std::string in_latex(const std::string& text) {
  static const std::map<std::string, std::string> kSaid = {{"\\", "\\textbackslash{}"},
                                                           {"~", "\\textasciitilde{}"},
                                                           {"^", "\\textasciicircum{}"},
                                                           {"&", "\\&"},
                                                           {"%", "\\%"},
                                                           {"$", "\\$"},
                                                           {"#", "\\#"},
                                                           {"_", "\\_"},
                                                           {"{", "\\{"},
                                                           {"}", "\\}"},
                                                           {"<", "$<$"},
                                                           {">", "$>$"},
                                                           {"±", "$\\pm$"},
                                                           {"≥", "$\\ge$"},
                                                           {"µ", "$\\mu$"},
                                                           {"×", "$\\times$"}};
  const std::string line = printable(text);
  std::string said;
  for (std::size_t i = 0; i < line.size();) {
    const auto first = static_cast<unsigned char>(line[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const std::string letter = line.substr(i, length);
    const auto found = kSaid.find(letter);
    said += found == kSaid.end() ? letter : found->second;
    i += length;
  }
  return said;
}

std::string as_latex(const Table& table) {
  std::string text = "% " + printable(table.title) + "\n% \\usepackage{booktabs}\n\\begin{tabular}{";
  for (std::size_t i = 0; i < table.header.size(); ++i) text += align_of(table, i);
  const auto add_row = [&text](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? " & " : "") + in_latex(cells[i]);
    text += " \\\\\n";
  };
  text += "}\n\\toprule\n";
  add_row(table.header);
  text += "\\midrule\n";
  for (const std::vector<std::string>& row : table.rows) add_row(row);
  text += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : table.notes) text += "% " + printable(note) + "\n";
  return text;
}

std::string as_html(const Table& table) {
  const auto row = [&](const std::vector<std::string>& cells, const char* kind) {
    std::string text = "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += fmt::format("<{0} style=\"text-align: {1}\">{2}</{0}>", kind,
                          align_of(table, i) == 'l' ? "left" : "right", html_text(cells[i]));
    return text + "</tr>\n";
  };
  std::string text = "<table>\n<caption>" + html_text(table.title) + "</caption>\n" + row(table.header, "th");
  for (const std::vector<std::string>& cells : table.rows) text += row(cells, "td");
  text += "</table>\n";
  for (const std::string& note : table.notes) text += "<p>" + html_text(note) + "</p>\n";
  return text;
}

std::string as_text(const Table& table) {
  std::string text = printable(table.title) + "\n\n" + text_rows(table);
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += printable(note) + "\n";
  return text;
}

}  // namespace

void Table::add(const Record& record) {
  fields.clear();
  records.emplace_back();
  for (const auto& [field, value] : record) {
    fields.push_back(field);
    records.back().push_back(value);
  }
}

std::string html_text(const std::string& text) {
  static const std::map<char, std::string> kSaid = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string escaped;
  for (const char c : text) {
    const auto found = kSaid.find(c);
    escaped += found == kSaid.end() ? std::string(1, c) : found->second;
  }
  return escaped;
}

std::string text_rows(const Table& table) {
  TextTable columns;
  columns.left = std::min(table.align.find('r'), table.align.size());
  if (!table.header.empty()) columns.rows = {table.header, {"-"}};
  columns.rows.insert(columns.rows.end(), table.rows.begin(), table.rows.end());
  return columns.text();
}

std::string markdown_rows(const Table& table) {
  const auto line = [](std::vector<std::string> cells) {
    std::transform(cells.begin(), cells.end(), cells.begin(), markdown::escaped);
    return markdown::row_text(cells);
  };
  std::string text = "\n" + line(table.header) + "|";
  for (std::size_t i = 0; i < table.header.size(); ++i) text += align_of(table, i) == 'l' ? "---|" : "--:|";
  text += "\n";
  for (const std::vector<std::string>& row : table.rows) text += line(row);
  return text;
}

std::string formatted(const Table& table, TableFormat format) {
  if (format == TableFormat::csv) return as_csv(table);
  if (format == TableFormat::json) return as_json(table);
  if (format == TableFormat::md) return as_markdown(table);
  if (format == TableFormat::html) return as_html(table);
  return format == TableFormat::latex ? as_latex(table) : as_text(table);
}

}  // namespace simsgd
