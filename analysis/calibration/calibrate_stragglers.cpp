#include "analysis/calibration/calibrate_stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

std::uint64_t number_in(const Spec& spec, const Measurement& row, const std::string& column) {
  const std::string text = column_of(row, column).value_or("");
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && rest == text.data() + text.size()) return value;
  throw ConfigError(
      {spec.file, "/stragglers",
       fmt::format("the column {} is not a whole number in line {} of {}", column, row.line, row.source),
       text, "Name the columns of workers and steps, as labels of the map"});
}

calibration::StepTable table_of(const Spec& spec, const std::vector<Measurement>& rows,
                                const Selection& where, const std::string& pointer) {
  std::vector<calibration::WorkerStep> steps;
  for (const Measurement& row : rows)
    if (where.holds(row))
      steps.push_back({static_cast<int>(number_in(spec, row, spec.stragglers->worker)),
                       number_in(spec, row, spec.stragglers->step), row.value});
  try {
    calibration::StepTable table = calibration::step_table(steps);
    if (table.count() == 0) throw std::invalid_argument("no step has all workers");
    return table;
  } catch (const std::invalid_argument& error) {
    throw ConfigError(
        spec.error_at(pointer, error.what(), "",
                      "Select times above 0, one for each worker and step. " + where.shown(rows)));
  }
}

void check_apart(const Spec& spec, const calibration::StepTable& fitted,
                 const calibration::StepTable& tested) {
  for (const std::uint64_t step : tested.steps)
    if (std::binary_search(fitted.steps.begin(), fitted.steps.end(), step))
      throw ConfigError({spec.file, "/tests/0/where", fmt::format("tests step {}, which is fitted", step), "",
                         "Select other steps: a prediction is judged on what it has not seen"});
}

}  // namespace

StragglerCalibration calibrate_stragglers(Spec spec, const CalibrationSettings& settings) {
  StragglerCalibration result;
  const std::vector<Measurement> rows = load_measurements(spec, settings.data);
  const calibration::StepTable table = table_of(spec, rows, spec.fit.where, "/fit/where");
  calibration::StragglerFitOptions options;
  options.draws = spec.fit.draws;
  if (settings.progress) settings.progress("fitting stragglers", 0);
  try {
    result.fit = calibration::fit_stragglers(table, options);
  } catch (const std::invalid_argument& error) {
    throw ConfigError({spec.file, "/fit/where", error.what(), "", "Fit more steps"});
  }
  if (!spec.tests.empty()) {
    const calibration::StepTable tested = table_of(spec, rows, spec.tests.front().where, "/tests/0/where");
    check_apart(spec, table, tested);
    if (settings.progress) settings.progress("judging", 0);
    result.verdict =
        calibration::judge(result.fit, tested, {.continues = spec.stragglers->continues, .fitted = &table});
  }
  result.spec = std::move(spec);
  return result;
}

std::string straggler_text(const StragglerCalibration& calibration) {
  std::string text = calibration.spec.name + "\n\n" + calibration::report(calibration.fit);
  if (calibration.verdict)
    text +=
        fmt::format("\nTest \"{}\"\n{}", calibration.spec.tests.front().name, calibration.verdict->text());
  return text;
}

nlohmann::ordered_json straggler_json(const StragglerCalibration& calibration) {
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"name", calibration.spec.name},
                                 {"spec", calibration.spec.file},
                                 {"steps", calibration.fit.steps}};
  for (const calibration::ParameterInterval& each : calibration.fit.intervals)
    json["parameters"].push_back(
        {{"name", each.name}, {"value", each.value}, {"low", each.low}, {"high", each.high}, {"level", 0.9}});
  json["regimes"] = {{"differ", calibration.fit.regimes.differ}, {"p", calibration.fit.regimes.p}};
  if (calibration.verdict) {
    for (const calibration::JudgedStatistic& each : calibration.verdict->statistics)
      json["tests"].push_back({{"name", each.name},
                               {"measured", each.measured},
                               {"predicted", each.predicted},
                               {"error", each.error()},
                               {"low", each.low},
                               {"high", each.high}});
    json["passes"] = calibration.verdict->passes();
  }
  json["stragglers"] = nlohmann::ordered_json::parse(straggler_section(calibration).dump());
  return json;
}

Json straggler_section(const StragglerCalibration& calibration) {
  return Json::array({calibration.fit.parameters.section()});
}

}  // namespace simsgd
