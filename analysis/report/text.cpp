#include "analysis/report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "analysis/markdown.hpp"
#include "analysis/questions/numbers.hpp"
#include "analysis/report/report.hpp"

namespace simsgd::report {

namespace {

using markdown::escaped;

constexpr std::size_t kMostMarkdownRows = 200;

std::string csv_text(const Cell& cell) {
  if (const std::string* text = std::get_if<std::string>(&cell)) return csv_cell(*text);
  if (const double* number = std::get_if<double>(&cell); number && std::isfinite(*number))
    return fmt::format("{}", *number);
  return "";
}

std::string markdown_text(const Cell& cell, const CommonUnit& unit) {
  std::string text;
  if (const double* number = std::get_if<double>(&cell); number && std::isfinite(*number))
    text = unit.show(*number);
  if (const std::string* found = std::get_if<std::string>(&cell)) text = *found;
  return text;
}

std::vector<double> numbers_of(const Chart& chart, std::size_t column) {
  std::vector<double> numbers;
  for (const std::vector<Cell>& row : chart.rows)
    if (const double* number = std::get_if<double>(&row[column])) numbers.push_back(*number);
  return numbers;
}

std::string heading(const Column& column, const CommonUnit& unit) {
  return column.title + (column.unit.empty() ? "" : questions::in_brackets(unit));
}

std::string table_of(const Chart& chart) {
  const std::vector<CommonUnit> units = units_of(chart);
  std::vector<std::string> names;
  std::string rule = "|";
  for (std::size_t c = 0; c < units.size(); ++c) {
    names.push_back(escaped(heading(chart.columns[c], units[c])));
    rule += chart.columns[c].unit.empty() ? "---|" : "--:|";
  }
  std::string text = markdown::row_text(names) + rule + "\n";
  for (std::size_t r = 0; r < std::min(chart.rows.size(), kMostMarkdownRows); ++r) {
    std::vector<std::string> cells;
    for (std::size_t c = 0; c < units.size(); ++c)
      cells.push_back(escaped(markdown_text(chart.rows[r][c], units[c])));
    text += markdown::row_text(cells);
  }
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
    const bool counts = column.unit == "1" && std::all_of(numbers.begin(), numbers.end(), [](double number) {
                          return number == std::floor(number);
                        });
    const bool shared = known.contains(key) && (end || column.unit != "1");
    units.push_back(shared   ? known.at(key)
                    : counts ? CommonUnit{}
                             : questions::unit_for(column.unit, numbers));
    known.emplace(key, units.back());
    if (column.field == "value") known.emplace("value", units.back());
  }
  return units;
}

std::string chart_csv(const Chart& chart) {
  std::vector<std::string> names;
  for (const Column& column : chart.columns) names.push_back(csv_cell(column.name));
  std::string text = csv_line(names);
  for (const std::vector<Cell>& row : chart.rows) {
    std::vector<std::string> cells;
    std::transform(row.begin(), row.end(), std::back_inserter(cells), csv_text);
    text += csv_line(cells);
  }
  return text;
}

std::string report_csv(const Report& report) {
  std::vector<std::string> names = {"study", "chart"};
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts)
      for (const Column& column : chart.columns)
        if (std::find(names.begin(), names.end(), column.name) == names.end()) names.push_back(column.name);
  std::vector<std::string> head;
  std::transform(names.begin(), names.end(), std::back_inserter(head), csv_cell);
  std::string text = csv_line(head);
  for (const StudyReport& study : report.studies)
    for (const Chart& chart : study.charts) {
      std::vector<std::size_t> places;
      for (const Column& column : chart.columns)
        places.push_back(
            static_cast<std::size_t>(std::find(names.begin(), names.end(), column.name) - names.begin()));
      for (const std::vector<Cell>& row : chart.rows) {
        std::vector<std::string> cells(names.size());
        cells[0] = csv_cell(study.name);
        cells[1] = chart.name;
        for (std::size_t c = 0; c < row.size(); ++c) cells[places[c]] = csv_text(row[c]);
        text += csv_line(cells);
      }
    }
  return text;
}

std::string report_markdown(const Report& report) {
  std::string text = "# " + escaped(report.store) + "\n";
  for (const StudyReport& study : report.studies) {
    text += fmt::format("\n## {}\n\n{} points, {} done, {} failed; up to {} seeds each.\n",
                        escaped(study.name), study.points, study.done, study.failed, study.seeds);
    for (const std::string& error : study.errors) text += "- failed: " + escaped(error) + "\n";
    for (const std::string& note : study.notes) text += "\n" + escaped(note) + "\n";
    if (study.headline)
      text += "\n### What is best\n\n" + questions::formatted(*study.headline, questions::TableFormat::md);
    for (const Chart& chart : study.charts)
      text += fmt::format("\n### {}\n\n{}\n\n{}\n    {}\n", chart.title, escaped(chart.caption),
                          table_of(chart), command_of(report, chart));
    if (!study.left_out.empty()) text += "\n### Left out\n\n";
    for (const LeftOut& each : study.left_out)
      text += fmt::format("- {}: {}\n", each.title, escaped(each.why));
  }
  return text;
}

}  // namespace simsgd::report
