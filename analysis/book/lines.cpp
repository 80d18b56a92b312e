#include "analysis/book/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/calibration/judge.hpp"
#include "scenarios/language/json_source.hpp"
#include "sim/base/errors.hpp"

namespace simsgd::book {

namespace {

constexpr std::size_t kWorstCells = 10;

Coverage coverage_of(const std::vector<Cell>& cells, const std::vector<double>& weights, std::size_t level) {
  Coverage coverage{kIntervalLevels[level], 0, 0, 0, 0};
  double sum = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const auto found = std::find_if(cell.intervals.begin(), cell.intervals.end(), [&](const Interval& each) {
      return each.level == coverage.level && each.low > 0;
    });
    if (found == cell.intervals.end()) continue;
    const bool inside = cell.measured >= found->low && cell.measured <= found->high;
    ++coverage.told;
    coverage.inside += inside ? 1U : 0U;
    coverage.share += inside ? weights[i] : 0;
    coverage.width += weights[i] * (found->high / found->low - 1);
    sum += weights[i];
  }
  if (sum > 0) coverage.share /= sum, coverage.width /= sum;
  return coverage;
}

double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

Line line_from(const nlohmann::json& json) {
  Line line{json.at("date"),
            json.at("cells"),
            json.at("mean"),
            json.at("median"),
            json.at("worst"),
            json.at("bias"),
            {},
            {},
            {}};
  for (const auto& each : json.at("coverage"))
    line.coverage.push_back(
        {each.at("level"), each.at("inside"), each.at("told"), each.at("width"), each.at("share")});
  if (json.contains("noise")) line.noise = json.at("noise").get<double>();
  for (const auto& each : json.at("worst_cells"))
    line.worst_cells.push_back({each.at("name"), each.at("error")});
  return line;
}

}  // namespace

const Coverage* Line::at(double level) const {
  for (const Coverage& each : coverage)
    if (each.level == level && each.told > 0) return &each;
  return nullptr;
}

Line line_of(const std::vector<Cell>& cells, const std::vector<double>& given, std::optional<double> noise,
             const std::string& date) {
  const std::vector<double> weights = given.empty() ? std::vector<double>(cells.size(), 1) : given;
  std::vector<JudgedPoint> points;
  for (std::size_t i = 0; i < cells.size(); ++i)
    points.push_back({i, cells[i].measured, cells[i].predicted, {}, 0});
  const ErrorSummary summary = summarise_errors(points, weights);
  Line line{date, cells.size(), summary.mean, summary.median, summary.worst, summary.bias, {}, noise, {}};
  for (std::size_t level = 0; level < kIntervalLevels.size(); ++level)
    line.coverage.push_back(coverage_of(cells, weights, level));
  for (const Cell& cell : cells) line.worst_cells.push_back({cell.name, cell.error()});
  std::stable_sort(
      line.worst_cells.begin(), line.worst_cells.end(),
      [](const WorstCell& a, const WorstCell& b) { return std::fabs(a.error) > std::fabs(b.error); });
  line.worst_cells.resize(std::min(line.worst_cells.size(), kWorstCells));
  return line;
}

std::string key_of(const SetSpec& set) { return set.measured_on + ": " + set.name; }

nlohmann::ordered_json lines_json(const Lines& lines) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (const auto& [key, line] : lines) {
    nlohmann::ordered_json one = {{"date", line.date},
                                  {"cells", line.cells},
                                  {"mean", rounded(line.mean)},
                                  {"median", rounded(line.median)},
                                  {"worst", rounded(line.worst)},
                                  {"bias", rounded(line.bias)},
                                  {"coverage", nlohmann::ordered_json::array()}};
    for (const Coverage& each : line.coverage)
      one["coverage"].push_back({{"level", each.level},
                                 {"inside", each.inside},
                                 {"told", each.told},
                                 {"share", rounded(each.share)},
                                 {"width", rounded(each.width)}});
    if (line.noise) one["noise"] = rounded(*line.noise);
    one["worst_cells"] = nlohmann::ordered_json::array();
    for (const WorstCell& each : line.worst_cells)
      one["worst_cells"].push_back({{"name", each.name}, {"error", rounded(each.error)}});
    all[key] = std::move(one);
  }
  return all;
}

Lines read_lines(const std::string& file) {
  const nlohmann::json json = nlohmann::json::parse(read_file(file), nullptr, false);
  Lines lines;
  try {
    for (const auto& each : json.items()) lines[each.key()] = line_from(each.value());
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(
        {file, "", "does not hold judged lines", error.what(), "Write it anew with `simsgd book --record`"});
  }
  return lines;
}

}  // namespace simsgd::book
