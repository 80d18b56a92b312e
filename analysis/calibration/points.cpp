#include "analysis/calibration/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "analysis/calibration/fit.hpp"
#include "analysis/statistics/intervals.hpp"
#include "scenarios/language/scenario_loader.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/quantiles.hpp"
#include "sim/recording/metrics.hpp"
#include "traces/import.hpp"

namespace simsgd {

void apply(const Patch& patch, Json& document) {
  for (const auto& [key, value] : patch) document[Json::json_pointer(pointer_of_key(key))] = value;
}

Patch patch_for(const Setting& setting, Patch patch) {
  std::erase_if(patch, [&](const auto& each) {
    return std::ranges::find(setting.left_alone, each.first) != setting.left_alone.end();
  });
  return patch;
}

namespace {

// Columns of a measured value that a scenario carries in `expected` that say by which run it is predicted:
// the study as it was named, and the point from 1.
constexpr const char* kStudyColumn = "study";
constexpr const char* kPointColumn = "point";

/// A study with values set, as those of `set`. Throws ConfigError.
Study study_with(const std::string& file, const std::map<std::string, Json>& set) {
  Overrides overrides;
  for (const auto& [pointer, value] : set) overrides.set.emplace_back(pointer, value.dump());
  return expand_study(file, overrides);
}

/// One for each `expected` value of each point, in the study's order. Columns beside study and point:
/// algorithm, workload, batch, and the study's axes by their short names. Throws ConfigError.
std::vector<Measurement> expected_rows(const std::string& file) {
  const Study study = study_with(file, {});
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

/// The parameter of each value of its columns, in the order in which they are met.
std::vector<ParameterSpec> one_for_each(const ParameterSpec& all, const Selection& fitted,
                                        const std::vector<Measurement>& measurements) {
  std::vector<ParameterSpec> made;
  std::set<std::string> known;
  const std::vector<std::string> columns = columns_of(all.each);
  for (const Measurement& measurement : measurements) {
    if (!fitted.holds(measurement) || !all.where.holds(measurement)) continue;
    ParameterSpec one = all;
    std::string values;
    for (const std::string& column : columns) {
      const std::string value = column_of(measurement, column).value_or("");
      values += (values.empty() ? "" : ", ") + value;
      one.where = one.where.with(column, value);
    }
    if (!known.insert(values).second) continue;
    one.name += ": " + values;
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace

void expand_each(Spec& spec, const std::vector<Measurement>& measurements) {
  for (ModelSpec& model : spec.models) {
    std::vector<ParameterSpec> parameters;
    for (const ParameterSpec& each : model.parameters) {
      if (each.each.empty())
        parameters.push_back(each);
      else
        for (ParameterSpec& one : one_for_each(each, spec.fit.where, measurements))
          parameters.push_back(std::move(one));
    }
    model.parameters = std::move(parameters);
  }
}

namespace {

using Kind = PredictSpec::Kind;

/// A column's value as a scenario may have it.
Json value_of_column(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_number() || parsed.is_boolean() ? parsed : Json(text);
}

class Maker {
 public:
  Maker(const Spec& spec, const ModelSpec& model) : spec_(spec), model_(model) {
    files_.put(spec.file, spec.scenario);
  }

  std::size_t setting_of(const Measurement& measurement) {
    if (measurement.labels.contains(kStudyColumn)) return setting_of_study(measurement);
    const PredictSpec& predict = rule_for(measurement);
    std::vector<Assignment> all = assignments_for(predict, measurement);
    std::string key = fmt::format("{}", static_cast<int>(predict.kind));
    for (const Assignment& each : all) key += "\n" + each.pointer + "=" + each.value.dump();
    std::vector<std::string> left_alone = parameters_without(measurement);
    for (const std::string& each : left_alone) key += "\n" + each;
    const auto [known, fresh] = number_.try_emplace(key, made_.settings.size());
    if (fresh) {
      made_.settings.push_back(make(predict, all));
      made_.settings.back().left_alone = std::move(left_alone);
    }
    return known->second;
  }

  std::string metric_of(const Measurement& measurement) const {
    if (measurement.labels.contains(kStudyColumn)) return measurement.quantity;
    const PredictSpec& predict = rule_for(measurement);
    return predict.metric.empty() ? measurement.quantity : predict.metric;
  }

  /// 0 where the column does not tell.
  double times_of(const Measurement& measurement) const {
    if (measurement.labels.contains(kStudyColumn)) return 1;
    const std::string& column = rule_for(measurement).times;
    if (column.empty()) return 1;
    const Json number = value_of_column(column_of(measurement, column).value_or(""));
    return number.is_number() ? number.get<double>() : 0;
  }

  Points made_;

 private:
  /// Pointers of parameters that the measurement does not go with.
  std::vector<std::string> parameters_without(const Measurement& measurement) const {
    std::vector<std::string> all;
    for (const ParameterSpec& each : model_.parameters)
      if (each.for_some && !each.where.holds(measurement))
        for (const std::string& pointer : each.pointers) all.push_back(each.key(pointer));
    return all;
  }

  /// A run of its own point, with what rules and the model set.
  std::size_t setting_of_study(const Measurement& measurement) {
    const std::string& file = measurement.labels.at(kStudyColumn);
    const std::string& point = measurement.labels.at(kPointColumn);
    const auto [known, fresh] = number_.try_emplace(file + "\n" + point, made_.settings.size());
    if (!fresh) return known->second;
    if (!studies_.contains(file)) studies_.emplace(file, study_with(file, model_.set));
    const Study& study = studies_.at(file);
    made_.settings.push_back(
        {load_point(study, study.points.at(static_cast<std::size_t>(std::stoul(point)) - 1)), Kind::run,
         parameters_without(measurement)});
    for (const EnsembleSpec& each : model_.ensemble)
      if (!each.where.holds(measurement)) made_.settings.back().left_alone.push_back(each.pointer);
    return known->second;
  }

  const PredictSpec& rule_for(const Measurement& measurement) const {
    for (const PredictSpec& each : spec_.predict)
      if (each.where.holds(measurement)) return each;
    throw ConfigError({spec_.file, "/predict",
                       "predicts no " + measurement.quantity + " such as that of line " +
                           std::to_string(measurement.line) + " of " + measurement.source,
                       "", "Add a rule that predicts it, or exclude it in \"data\""});
  }

  void add(std::vector<Assignment>& all, const std::string& pointer, Json value) const {
    all.push_back({pointer, std::move(value), {spec_.file, "/predict"}});
  }

  std::vector<Assignment> assignments_for(const PredictSpec& predict, const Measurement& measurement) const {
    std::vector<Assignment> all;
    if (predict.kind != Kind::run) add(all, "/cluster/workers", std::max(2, measurement.workers));
    for (const auto& [pointer, value] : predict.set) add(all, pointer, value);
    for (const auto& [column, values] : predict.by) {
      const std::optional<std::string> value = column_of(measurement, column);
      const auto found = value ? values.find(*value) : values.end();
      if (found == values.end())
        throw ConfigError({spec_.file, "/predict",
                           fmt::format("does not say what {} = {} sets (line {} of {})", column,
                                       value.value_or("(none)"), measurement.line, measurement.source),
                           "", "Add what this value sets, or exclude it in \"data\""});
      for (const auto& [pointer, set] : found->second) add(all, pointer, set);
    }
    for (const auto& [pointer, column] : predict.from) {
      const std::optional<std::string> value = column_of(measurement, column);
      if (value) add(all, pointer, value_of_column(*value));
    }
    for (const auto& [pointer, value] : model_.set) add(all, pointer, value);
    return all;
  }

  Setting make(const PredictSpec& predict, const std::vector<Assignment>& all) {
    Loading loading = load(files_, spec_.file, all, true);
    if (predict.kind == Kind::run) {
      build_job(loading.scenario, loading.errors);
      loading.errors.throw_if_any();
    } else {
      loading.errors.throw_if_any("/cluster");
      loading.errors.throw_if_any("/network");
      make_cluster(loading.scenario);
    }
    return {std::move(loading.scenario), predict.kind};
  }

  const Spec& spec_;
  const ModelSpec& model_;
  JsonFiles files_;
  std::map<std::string, std::size_t> number_;
  std::map<std::string, Study> studies_;
};

bool usable(const Measurement& measurement) {
  return std::isfinite(measurement.value) && measurement.value > 0;
}

void check_apart(const Spec& spec, const std::vector<Point>& points) {
  for (const Point& point : points) {
    if (!point.fitted || point.tests.empty()) continue;
    const auto both =
        std::ranges::count_if(points, [](const Point& each) { return each.fitted && !each.tests.empty(); });
    throw ConfigError(
        {spec.file, "/tests/" + std::to_string(point.tests.front()) + "/where",
         fmt::format("tests {} of the fitted measurements, the first in line {} of {}", both,
                     point.measurement.line, point.measurement.source),
         "", "Select other measurements: a model is tested on measurements that the fit has not seen"});
  }
}

void check_enough(const Spec& spec, const std::vector<Point>& points,
                  const std::vector<Measurement>& measurements) {
  const auto fitted =
      static_cast<std::size_t>(std::ranges::count_if(points, [](const Point& each) { return each.fitted; }));
  if (points.empty() && spec.fit.where.empty())
    throw ConfigError({spec.file, "/data", "contains no measurement to fit or test", "",
                       "Check what `simsgd import` reads from the files, and the conditions in \"where\""});
  for (std::size_t i = 0; i < spec.models.size(); ++i)
    if (fitted < std::max<std::size_t>(1, free_parameters(spec.models[i])) && !spec.fit.where.empty())
      throw ConfigError(spec.error_at(
          "/fit/where",
          fmt::format("selects {} of {} measurements, and the model \"{}\" has {} parameters", fitted,
                      measurements.size(), spec.models[i].name, free_parameters(spec.models[i])),
          "", "Fit more measurements, or fewer parameters. " + spec.fit.where.shown(measurements)));
    else if (fitted < free_parameters(spec.models[i]))
      throw ConfigError({spec.file, fmt::format("/models/{}/parameters", i),
                         fmt::format("has {} entries, and only {} measurements are fitted",
                                     free_parameters(spec.models[i]), fitted),
                         "", "Fit more measurements, or fewer parameters"});
}

}  // namespace

Points make_points(const Spec& spec, const ModelSpec& model, const std::vector<Measurement>& measurements) {
  Maker maker(spec, model);
  std::size_t unusable = 0;
  for (const Measurement& measurement : measurements) {
    Point point{measurement, 0, "", 1, spec.fit.where.holds(measurement), {}};
    for (std::size_t t = 0; t < spec.tests.size(); ++t)
      if (spec.tests[t].where.holds(measurement)) point.tests.push_back(t);
    if (!point.fitted && point.tests.empty()) continue;
    if (usable(measurement)) point.times = maker.times_of(measurement);
    if (!usable(measurement) || !(point.times > 0)) {
      ++unusable;
      continue;
    }
    point.setting = maker.setting_of(measurement);
    point.metric = maker.metric_of(measurement);
    maker.made_.points.push_back(std::move(point));
  }
  if (unusable > 0)
    maker.made_.warnings.push_back(fmt::format(
        "left out measurements that are not above 0, or lack the value that they are relative to: {}",
        unusable));
  check_apart(spec, maker.made_.points);
  check_enough(spec, maker.made_.points, measurements);
  return std::move(maker.made_);
}

std::optional<Points> points_beside(const Spec& spec, const Points& points) {
  std::vector<Measurement> rows;
  for (const DataSpec& data : spec.data)
    if (!data.beside.empty())
      for (Measurement& row : expected_rows(data.beside)) rows.push_back(std::move(row));
  if (rows.empty()) return std::nullopt;
  Points beside = points;
  const ModelSpec nothing;
  Maker maker(spec, nothing);
  maker.made_.settings = points.settings;
  const auto key = [](const Measurement& each) {
    return std::tuple(each.quantity, each.workers, each.labels.at("algorithm"), each.labels.at("workload"),
                      each.value);
  };
  for (Point& point : beside.points)
    for (const Measurement& row : rows)
      if (point.measurement.labels.contains(kStudyColumn) && key(row) == key(point.measurement))
        point.setting = maker.setting_of(row);
  beside.settings = std::move(maker.made_.settings);
  return beside;
}

// The measurements of a spec: imported, selected, summarised; and those that scenarios carry in `expected`.

namespace {

double statistic_of(const std::string& name, const std::vector<double>& values) {
  if (name == "min") return *std::ranges::min_element(values);
  if (name == "max") return *std::ranges::max_element(values);
  if (name == "median") return quantile(values, 0.5);
  if (name == "p95") return quantile(values, 0.95);
  return statistics::mean(values);
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
      for (Measurement& row : expected_rows(study))
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

}  // namespace simsgd
