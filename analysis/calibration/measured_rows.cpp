// The measurements of a spec: imported, selected, summarised; and those that scenarios carry in `expected`.
#include "analysis/calibration/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/recording/metrics.hpp"
#include "traces/import.hpp"

namespace simsgd {

namespace {

double statistic_of(const std::string& name, const std::vector<double>& values) {
  if (name == "min") return *std::ranges::min_element(values);
  if (name == "max") return *std::ranges::max_element(values);
  if (name == "median") return quantile(values, 0.5);
  if (name == "p95") return quantile(values, 0.95);
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Rows of one quantity that agree in the columns, in the order of their first.
std::vector<Measurement> summarised(const DataSpec& data, const std::vector<Measurement>& rows) {
  std::map<std::string, std::size_t> place;
  std::vector<Measurement> all;
  std::vector<std::vector<double>> values;
  for (const Measurement& row : rows) {
    std::string key = row.quantity + "\n" + row.operation;
    for (const std::string& column : data.by) key += "\n" + column_of(row, column).value_or("");
    const auto [found, fresh] = place.try_emplace(key, all.size());
    if (fresh) {
      all.push_back(row);
      values.emplace_back();
      for (auto label = all.back().labels.begin(); label != all.back().labels.end();)
        label = std::ranges::find(data.by, label->first) == data.by.end() ? all.back().labels.erase(label)
                                                                          : std::next(label);
    }
    values[found->second].push_back(row.value);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].value = statistic_of(data.summarise, values[i]);
    all[i].samples = values[i].size();
    all[i].deviation = kNotGiven;
  }
  return all;
}

void mark_least(const MarkSpec& mark, std::vector<Measurement>& rows) {
  const auto group_of = [&](const Measurement& row) {
    std::string group = row.quantity;
    for (const std::string& column : mark.by) group += "\n" + column_of(row, column).value_or("");
    return group;
  };
  const auto number_of = [&](const Measurement& row) {
    return Json::parse(column_of(row, mark.least).value_or(""), nullptr, false);
  };
  std::map<std::string, double> least;
  for (const Measurement& row : rows)
    if (const Json number = number_of(row); mark.where.holds(row) && number.is_number()) {
      const auto [found, fresh] = least.try_emplace(group_of(row), number.get<double>());
      if (!fresh) found->second = std::min(found->second, number.get<double>());
    }
  for (Measurement& row : rows) {
    const auto found = least.find(group_of(row));
    const bool is_least =
        found != least.end() && mark.where.holds(row) && number_of(row) == Json(found->second);
    row.labels[mark.column] = is_least ? mark.marked : mark.others;
  }
}

}  // namespace

std::vector<Measurement> load_measurements(const Spec& spec, const std::string& directory) {
  std::vector<Measurement> all;
  std::vector<InputError> errors;
  for (std::size_t i = 0; i < spec.data.size(); ++i) {
    const DataSpec& data = spec.data[i];
    for (const std::string& study : data.expected)
      for (Measurement& row : expected_rows(study, study_with(study, {})))
        if (data.where.holds(row)) all.push_back(std::move(row));
    if (!data.expected.empty()) continue;
    std::vector<std::string> paths;
    for (const std::string& file : data.files)
      paths.push_back((std::filesystem::path(directory) / file).string());
    try {
      Measurements imported = import_files(
          paths, {.format = data.format,
                  .map_path = data.map.present() ? fmt::format("{}:/data/{}/map", spec.file, i) : "",
                  .map = data.map,
                  .set = data.set});
      std::erase_if(imported.rows, [&](const Measurement& row) { return !data.where.holds(row); });
      for (Measurement& row : imported.rows)
        if (row.source.starts_with(directory + "/")) row.source.erase(0, directory.size() + 1);
      for (Measurement& row : data.summarise.empty() ? imported.rows : summarised(data, imported.rows))
        all.push_back(std::move(row));
    } catch (const ConfigError& error) {
      errors.insert(errors.end(), error.errors().begin(), error.errors().end());
    }
  }
  if (!errors.empty()) throw ConfigError(std::move(errors));
  for (const MarkSpec& mark : spec.marks) mark_least(mark, all);
  return all;
}

Study study_with(const std::string& file, const std::map<std::string, Json>& set) {
  Overrides overrides;
  for (const auto& [pointer, value] : set) overrides.set.emplace_back(pointer, value.dump());
  return expand_study(file, overrides);
}

std::vector<Measurement> expected_rows(const std::string& file, const Study& study) {
  std::vector<Measurement> rows;
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const Json resolved = load_point(study, study.points[i]).resolved;
    Measurement row;
    row.workers = resolved.at("cluster").at("workers").get<int>();
    row.labels = {{kStudyColumn, file},
                  {kPointColumn, std::to_string(i + 1)},
                  {"algorithm", resolved.at("algorithm").value("name", "")},
                  {"workload", resolved.at("workload").value("name", "")},
                  {"batch", resolved.at("workload").value("batch", Json()).dump()}};
    for (const auto& [axis, label] : study.points[i].shown) row.labels.emplace(axis, label);
    row.source = file;
    for (const Json& expected : resolved.value("expected", Json::array())) {
      row.quantity = expected.at("metric").get<std::string>();
      row.value = expected.at("value").get<double>();
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace simsgd
