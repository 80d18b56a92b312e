#include "analysis/faces/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/faces/page.hpp"
#include "analysis/faces/table.hpp"
#include "analysis/questions/tables.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"

namespace simsgd::faces {

namespace {

using markdown::escaped;

constexpr std::size_t kMostMarkdownRows = 200;

/// SI, the shortest text that reads back as it was: whole numbers without a point.
nlohmann::ordered_json record_cell(const Cell& cell) {
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  const double* number = std::get_if<double>(&cell);
  return number ? frame::record_of({"", std::isfinite(*number) ? std::optional(*number) : std::nullopt})
                : nlohmann::ordered_json();
}

std::string shown_text(const Cell& cell, const CommonUnit& unit) {
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  const double* number = std::get_if<double>(&cell);
  return number && std::isfinite(*number) ? unit.show(*number) : "";
}

std::vector<double> numbers_of(const Chart& chart, std::size_t column) {
  std::vector<double> numbers;
  for (const std::vector<Cell>& row : chart.rows)
    if (const double* number = std::get_if<double>(&row[column])) numbers.push_back(*number);
  return numbers;
}

std::string rows_of(const Chart& chart) {
  std::string text = markdown_rows(table_of(chart, kMostMarkdownRows));
  if (chart.rows.size() > kMostMarkdownRows)
    text += fmt::format("\nThe first {} of {} rows; --format csv has all.\n", kMostMarkdownRows,
                        chart.rows.size());
  return text;
}

}  // namespace

std::vector<CommonUnit> units_of(const Chart& chart) {
  std::map<std::string, CommonUnit> known;
  std::vector<CommonUnit> units;
  for (std::size_t c = 0; c < chart.columns.size(); ++c) {
    const Column& column = chart.columns[c];
    const bool end = column.field == "low" || column.field == "high";
    const std::string key = end ? "value" : column.unit == "1" ? column.field : column.unit;
    const std::vector<double> numbers = numbers_of(chart, c);
    const bool counts = column.unit == "1" && std::ranges::all_of(numbers, [](double number) {
                          return number == std::floor(number);
                        });
    const bool shared = known.contains(key) && (end || column.unit != "1");
    units.push_back(shared ? known.at(key) : counts ? CommonUnit{} : unit_for(column.unit, numbers));
    if (!numbers.empty()) known.emplace(key, units.back());
    if (column.field == "value") known.emplace("value", units.back());
  }
  return units;
}

Table table_of(const Chart& chart, std::size_t most_shown) {
  Table table;
  table.align = "";
  const std::vector<CommonUnit> units = units_of(chart);
  for (std::size_t c = 0; c < units.size(); ++c) {
    const Column& column = chart.columns[c];
    table.fields.push_back(column.name);
    table.header.push_back(column.title + (column.unit.empty() ? "" : in_brackets(units[c])));
    table.align += column.unit.empty() ? 'l' : 'r';
  }
  for (const std::vector<Cell>& row : chart.rows) {
    std::vector<nlohmann::ordered_json>& record = table.records.emplace_back();
    std::vector<std::string> shown;
    for (std::size_t c = 0; c < row.size(); ++c) {
      record.push_back(record_cell(row[c]));
      shown.push_back(shown_text(row[c], units[c]));
    }
    if (table.rows.size() < most_shown) table.rows.push_back(std::move(shown));
  }
  return table;
}

std::string report_csv(const Report& report) {
  Table all;
  all.fields = {"study", "chart"};
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts)
      for (const Column& column : chart.columns)
        if (std::ranges::find(all.fields, column.name) == all.fields.end()) all.fields.push_back(column.name);
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts) {
      const Table table = table_of(chart);
      for (const auto& row : table.records) {
        auto& record = all.records.emplace_back(all.fields.size());
        record[0] = study.name;
        record[1] = chart.name;
        for (std::size_t c = 0; c < row.size(); ++c)
          record[static_cast<std::size_t>(std::ranges::find(all.fields, table.fields[c]) -
                                          all.fields.begin())] = row[c];
      }
    }
  return formatted(all, TableFormat::csv);
}

std::string report_markdown(const Report& report) {
  std::string text = "# " + escaped(report.store) + "\n";
  for (const StudyReport& study : report.studies) {
    text += fmt::format("\n## {}\n\n{}, {} done, {} failed; {} each.\n", escaped(study.name),
                        counted(study.points, "point"), study.done, study.failed,
                        study.seeds == 1 ? "one seed" : fmt::format("up to {} seeds", study.seeds));
    for (const std::string& error : study.errors) text += "- failed: " + escaped(error) + "\n";
    for (const std::string& note : study.notes) text += "\n" + escaped(note) + "\n";
    if (study.headline) text += "\n### What is best\n\n" + formatted(*study.headline, TableFormat::md);
    for (const Chart& chart : study.charts)
      text += fmt::format("\n### {}\n\n{}\n{}\n    {}\n", chart.title, escaped(chart.caption), rows_of(chart),
                          command_of(report, chart));
    if (!study.left_out.empty()) text += "\n### Left out\n\n";
    for (const LeftOutChart& each : study.left_out)
      text += fmt::format("- {}: {}\n", each.title, escaped(each.why));
  }
  return text;
}

namespace {

constexpr std::size_t kMostRows = 50;  // of a table

/// One chart among others: what is said once for all of them is taken out, and its choices get a name of
/// their own.
Spec part_of_many(Spec spec, std::size_t number) {
  const Spec data = spec.at("data");
  for (const char* each : {"$schema", "config", "autosize", "params", "data"}) spec.erase(each);
  std::string text = spec.dump();
  const std::string picked = "\"picked\"", own = fmt::format("\"picked_{}\"", number);
  for (std::size_t at = 0; (at = text.find(picked, at)) != std::string::npos; at += own.size())
    text.replace(at, picked.size(), own);
  spec = Spec::parse(text);
  spec["data"] = data;
  return spec;
}

Spec together(const std::vector<Spec>& specs) {
  if (specs.size() == 1) return specs.front();
  Spec all = {{"$schema", specs.front().at("$schema")},
              {"config", specs.front().at("config")},
              {"params", specs.front().at("params")},
              {"resolve", {{"scale", {{"color", "independent"}, {"shape", "independent"}}}}},
              {"vconcat", Spec::array()}};
  for (std::size_t i = 0; i < specs.size(); ++i) all["vconcat"].push_back(part_of_many(specs[i], i + 1));
  return all;
}

/// Adds the best picture that can be drawn here; what is missing is told by nobody.
void add_picture(const Spec& spec, Spec& bundle) {
  try {
    const std::string svg = drawn_svg(find_vl2svg(), spec.dump());
    bundle["image/svg+xml"] = svg;
    bundle["image/png"] = base64(converted(find_svg_converter({"png"}), svg));
    bundle.erase("image/svg+xml");
  } catch (const ConfigError&) {
  }
}

}  // namespace

std::string notebook_bundle(const Report& report, const FigureSettings& settings) {
  std::vector<Spec> specs;
  std::string text, tables;
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts) {
      Chart shown = chart;
      shown.rows = rows_shown_first(chart);
      specs.push_back(standalone(shown, shown.rows, settings));
      if (specs.size() > 1) specs.back()["title"] = chart.title;
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", chart.title, chart.caption);
      Table table = table_of(shown, kMostRows);
      table.title = chart.title;
      table.notes = {chart.caption};
      tables += formatted(table, TableFormat::html);
    }
  Spec bundle = Spec::object();
  if (!specs.empty()) {
    if (specs.size() > 1) specs.front()["title"] = report.studies.front().charts.front().title;
    const Spec all = together(specs);
    bundle["text/plain"] = text;
    for (const char* version : {"5", "6"})  // notebooks that know 5 draw 6
      bundle[fmt::format("application/vnd.vegalite.v{}+json", version)] = all;
    add_picture(all, bundle);
    if (!bundle.contains("image/png") && !bundle.contains("image/svg+xml")) bundle["text/html"] = tables;
  }
  return bundle.dump(-1, ' ', false, Spec::error_handler_t::replace) + "\n";
}

}  // namespace simsgd::faces
