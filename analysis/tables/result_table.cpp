#include "analysis/tables/result_table.hpp"

#include "analysis/markdown.hpp"
#include "results/text_table.hpp"
#include "sim/base/printable.hpp"

namespace simsgd::tables {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string csv_value(const OrderedJson& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value.get<std::string>()) : value.dump();
}

std::string as_csv(const ResultTable& table) {
  std::string text;
  const auto add_line = [&text](const auto& cells, const auto& cell_text) {
    bool first = true;
    for (const auto& cell : cells) {
      if (!first) text += ",";
      text += cell_text(cell);
      first = false;
    }
    text += "\n";
  };
  add_line(table.fields, csv_cell);
  for (const std::vector<OrderedJson>& record : table.records) add_line(record, csv_value);
  return text;
}

std::string as_json(const ResultTable& table) {
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

std::string as_markdown(const ResultTable& table) {
  std::string text = printable(table.title) + "\n";
  const auto shown = [](std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = printable(cell);
    return cells;
  };
  text += markdown::heading(shown(table.header));
  for (const std::vector<std::string>& row : table.rows) text += markdown::row_text(shown(row));
  for (const std::string& note : table.notes) text += "\n" + printable(note) + "\n";
  return text;
}

std::string as_text(const ResultTable& table) {
  std::string text = printable(table.title) + "\n\n";
  TextTable columns;
  columns.left = table.left;
  columns.rows = {table.header, {"-"}};
  columns.rows.insert(columns.rows.end(), table.rows.begin(), table.rows.end());
  text += columns.text();
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += printable(note) + "\n";
  return text;
}

}  // namespace

std::string formatted(const ResultTable& table, TableFormat format) {
  switch (format) {
    case TableFormat::csv:
      return as_csv(table);
    case TableFormat::json:
      return as_json(table);
    case TableFormat::md:
      return as_markdown(table);
    case TableFormat::text:
      break;
  }
  return as_text(table);
}

}  // namespace simsgd::tables
