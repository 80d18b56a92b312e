#include "results/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "results/summary.hpp"
#include "results/text_table.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string shown(const OrderedJson& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  const double value = cell.get<double>();
  if (value == std::floor(value)) return grouped(value, 0);
  return fmt::format("{:.4g}", value);
}

std::string one_table(const std::string& name, const OrderedJson& table) {
  const OrderedJson& rows = table.at("rows");
  TextTable text;
  text.rows.push_back(table.at("columns").get<std::vector<std::string>>());
  text.rows.push_back({"-"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostTableRows); ++i) {
    std::vector<std::string>& cells = text.rows.emplace_back();
    for (const OrderedJson& cell : rows[i]) cells.push_back(shown(cell));
  }
  std::string title = name;
  std::replace(title.begin(), title.end(), '_', ' ');
  std::string result = fmt::format("\n{} ({})\n{}", title, rows.size(), text.text());
  if (rows.size() > kMostTableRows)
    result += fmt::format("... and {} more: --json has them all\n", rows.size() - kMostTableRows);
  return result;
}

}  // namespace

std::string decided_tables(const OrderedJson& document) {
  std::string text;
  if (!document.contains("tables")) return text;
  for (const auto& [name, table] : document["tables"].items()) text += one_table(name, table);
  return text;
}

std::string title_of(const nlohmann::ordered_json& document, const std::string& file) {
  const nlohmann::ordered_json& name = document.at("scenario").at("name");
  return name.is_string() ? name.get<std::string>() : file;
}

std::string run_summary(const nlohmann::ordered_json& document, const std::string& title,
                        const RunFiles& files) {
  return summary_table({{title, &document}}) + decided_tables(document) +
         (files.document.empty() ? "" : files_text(files));
}

}  // namespace simsgd
