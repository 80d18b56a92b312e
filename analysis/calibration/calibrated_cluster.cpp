// The cluster file that a calibration writes. Every number that was fitted has its interval, and draws of all
// of them together, in the section "calibration" (scenarios/language/calibration_draws.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "analysis/calibration/calibrate.hpp"
#include "analysis/calibration/spec.hpp"
#include "analysis/runs/run_row.hpp"
#include "scenarios/language/calibration_draws.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr const char* kCluster = "/cluster";
constexpr double kLevel = 0.9;

/// For all that is predicted: a cluster has one number.
bool in_cluster(const std::string& pointer) {
  return pointer.starts_with(std::string(kCluster) + "/") && pointer.find('#') == std::string::npos;
}
std::string below_cluster(const std::string& pointer) { return pointer.substr(std::string(kCluster).size()); }

Json data_section(const Calibration& calibration, const std::string& directory) {
  Json all = Json::array();
  for (const DataSpec& data : calibration.spec.data)
    for (const std::string& file : data.files.empty() ? data.expected : data.files) {
      const std::string path =
          data.files.empty() ? scenario_path(file) : (std::filesystem::path(directory) / file).string();
      const auto rows = std::ranges::count_if(calibration.points.points, [&](const Point& each) {
        return each.fitted && each.measurement.source == file;
      });
      all.push_back({{"file", file}, {"hash", name_key("data", read_file(path))}, {"fitted", rows}});
    }
  return all;
}

Json parameter_section(const Calibration& calibration) {
  Json all = Json::array();
  for (const NumberInterval& each : number_intervals(calibration, kLevel))
    if (in_cluster(each.pointer) && !each.pointer.ends_with("/up_to")) {
      all.push_back({{"pointer", below_cluster(each.pointer)}, {"value", rounded(each.value)}});
      if (each.known) all.back().update({{"low", rounded(each.low)}, {"high", rounded(each.high)}});
    }
  return all;
}

/// Joint draws, the model's own error among them.
Json draw_section(const Calibration& calibration) {
  Json all = Json::array();
  const std::vector<Draw>& draws = calibration.uncertainty.draws;
  for (std::size_t i = 0; i < std::min(kMostDraws, draws.size()); ++i) {
    Json draw = Json::object();
    for (const auto& [pointer, value] : scaled_patch(calibration.model(), draws[i].fitted, draws[i].factor))
      if (in_cluster(pointer)) draw[below_cluster(pointer)] = rounded_json(value);
    all.push_back(std::move(draw));
  }
  return all;
}

/// What the spec calls the number or choice of a patch, and where it matters.
struct Described {
  std::string name, pointer;
  Json where = Json::object();
  bool fitted = false;
};

Json where_written(const Selection& selection, const std::string& name) {
  std::optional<Json> where = where_of(selection);
  if (!where)
    throw RunError(fmt::format(
        "\"{}\" depends on the column {}, which scenarios do not have, so it cannot be written into a cluster.",
        name, column_of_measurements(selection)));
  return std::move(*where);
}

Described described(const ModelSpec& model, const std::string& key) {
  for (const EnsembleSpec& each : model.ensemble)
    if (each.pointer == key) return {each.name, key, where_written(each.where, each.name), false};
  for (const ParameterSpec& each : model.parameters)
    for (const std::string& pointer : each.pointers)
      if (each.key(pointer) == key)
        return {each.name, pointer, each.for_some ? where_written(each.where, each.name) : Json::object(),
                true};
  return {key, key};
}

Json in_units(const std::string& pointer, const Json& value) {
  return rounded_json(setting_value(pointer, value).value_or(value));
}

/// What was fitted of scenarios and not of the cluster, or for some of them, and the choices of an ensemble.
Json setting_section(const Calibration& calibration) {
  std::map<std::string, NumberInterval> intervals;
  for (const NumberInterval& each : number_intervals(calibration, kLevel)) intervals[each.pointer] = each;
  const std::vector<Draw>& draws = calibration.uncertainty.draws;
  Json all = Json::array();
  for (const auto& [key, value] : patch_of(calibration.model(), calibration.best())) {
    if (in_cluster(key)) continue;
    const Described what = described(calibration.model(), key);
    Json setting = {{"name", what.name}, {"pointer", what.pointer}, {"value", in_units(what.pointer, value)}};
    if (!what.where.empty()) setting["where"] = what.where;
    if (const auto found = intervals.find(key); what.fitted && found != intervals.end()) {
      setting["low"] = rounded(found->second.low);
      setting["high"] = rounded(found->second.high);
    }
    for (std::size_t i = 0; i < std::min(kMostDraws, draws.size()); ++i)
      for (const auto& [drawn, each] : scaled_patch(calibration.model(), draws[i].fitted, draws[i].factor))
        if (drawn == key) setting["draws"].push_back(in_units(what.pointer, each));
    if (setting.contains("draws")) all.push_back(std::move(setting));
  }
  return all;
}

/// Of each workload of the runs.
Json batches_of(const Points& points, const std::vector<std::size_t>& which) {
  std::map<std::string, std::set<double>> batches;
  for (const std::size_t i : which) {
    const Setting& setting = points.settings.at(points.points[i].setting);
    if (setting.kind != PredictSpec::Kind::run) continue;
    const Json& workload = setting.scenario.resolved.at("workload");
    if (workload.is_object())
      batches[workload.at("name").get<std::string>()].insert(workload.at("batch").get<double>());
  }
  Json all = Json::array();
  for (const auto& [workload, sizes] : batches) all.push_back({{"workload", workload}, {"batches", sizes}});
  return all;
}

std::string source_text(const Calibration& calibration, const std::string& date) {
  const ModelResult& chosen = calibration.models[calibration.chosen];
  std::string text = fmt::format("Fitted by simsgd calibrate {} on {}, model \"{}\": {} measurements",
                                 calibration.spec.file, date, chosen.name, calibration.fit.points.size());
  if (std::isfinite(chosen.left_out_error))
    text += fmt::format("; mean error {:.1f} % on parts left out in turn ({})", 100 * chosen.left_out_error,
                        fmt::join(calibration.spec.fit.leave_out, ", "));
  return text + ".";
}

/// Of studies that predict themselves: as the first of their points has it, but for the nodes that its
/// workers need, which others need more of.
Json cluster_of_studies(const Json& resolved) {
  Json cluster = resolved.at("cluster");
  const auto workers = cluster.at("workers").get<std::int64_t>(),
             per_node = cluster.at("gpus_per_node").get<std::int64_t>();
  if (cluster.at("nodes") == (workers + per_node - 1) / per_node) cluster.erase("nodes");
  return cluster;
}

}  // namespace

double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Json rounded_json(Json value) {
  if (value.is_number_float()) return rounded(value.get<double>());
  if (value.is_structured())
    for (Json& part : value) part = rounded_json(std::move(part));
  return value;
}

namespace {

/// At least a step apart, the largest among them.
std::vector<double> sizes_told(const std::set<double>& sizes) {
  std::vector<double> all;
  for (const double each : sizes)
    if (all.empty() || each >= all.back() * std::exp2(kSizeStep)) all.push_back(each);
  if (!all.empty() && all.back() != *sizes.rbegin()) all.push_back(*sizes.rbegin());
  return all;
}

}  // namespace

Json calibration_told(const Points& points, const Uncertainty& uncertainty) {
  Json ranges = Json::object();
  const auto extend = [&ranges](const char* what, double value) {
    if (!std::isfinite(value) || value <= 0) return;
    Json& range = ranges.emplace(what, Json{{"low", value}, {"high", value}}).first.value();
    range["low"] = std::min(range["low"].get<double>(), value);
    range["high"] = std::max(range["high"].get<double>(), value);
  };
  std::set<std::size_t> seen;
  std::set<std::string> operations;
  std::set<double> sizes;
  std::vector<std::size_t> fitted;
  for (std::size_t i = 0; i < points.points.size(); ++i) {
    const Point& point = points.points[i];
    if (!point.fitted) continue;
    fitted.push_back(i);
    extend("workers", point.measurement.workers);
    extend("bytes", point.measurement.bytes);
    // Of a run that tells no size: what all of a model's gradients take, which intervals compare with.
    const Setting& setting = points.settings.at(point.setting);
    if (setting.kind == PredictSpec::Kind::collective) operations.insert(point.measurement.operation);
    if (setting.kind != PredictSpec::Kind::run && point.bytes() > 0) sizes.insert(point.bytes());
    if (setting.kind == PredictSpec::Kind::run && !std::isfinite(point.measurement.bytes) &&
        seen.insert(point.setting).second)
      extend("bytes", make_job(setting.scenario).workload.model_bytes());
  }
  if (!operations.empty()) ranges["operations"] = operations;
  ranges["workloads"] = names_of_runs(points, fitted, "/workload");
  ranges["batches"] = batches_of(points, fitted);
  ranges["algorithms"] = names_of_runs(points, fitted, "/algorithm");
  Json told = {{"model_error", rounded(uncertainty.model_sigma())},
               {"parts_left_out", uncertainty.parts},
               {"measured", std::move(ranges)}};
  if (uncertainty.reach.back() > 0)
    told["left_out"] = {{"half", rounded(uncertainty.reach[0])},
                        {"nine_tenths", rounded(uncertainty.reach[1])},
                        {"workloads", uncertainty.workloads},
                        {"algorithms", uncertainty.algorithms}};
  if (uncertainty.reach.back() > 0 && uncertainty.doublings > 0 && !sizes.empty()) {
    told["left_out"]["fitted"] = {{"half", rounded(uncertainty.fitted[0])},
                                  {"nine_tenths", rounded(uncertainty.fitted[1])},
                                  {"doublings", rounded(uncertainty.doublings)}};
    told["measured"]["sizes"] = sizes_told(sizes);
  }
  return told;
}

Json calibrated_cluster(const Calibration& calibration, const std::string& directory,
                        const std::string& date) {
  Json scenario = calibration.spec.scenario;
  if (!scenario.contains("cluster"))
    scenario["cluster"] = cluster_of_studies(calibration.points.settings.front().scenario.resolved);
  for (const auto& [pointer, value] : calibration.model().set)
    if (in_cluster(pointer)) scenario[Json::json_pointer(pointer)] = value;
  for (auto [pointer, value] : patch_of(calibration.model(), calibration.best()))
    if (in_cluster(pointer)) scenario[Json::json_pointer(pointer)] = rounded_json(value);
  Json cluster = std::move(scenario["cluster"]);
  cluster.erase("workers");
  Json settings = setting_section(calibration);
  cluster["source"] =
      cluster.value("source", "") + (cluster.contains("source") ? " " : "") + source_text(calibration, date);
  cluster["calibration"] = {{"spec", calibration.spec.file},
                            {"model", calibration.model().name},
                            {"date", date},
                            {"data", data_section(calibration, directory)},
                            {"resampled", calibration.uncertainty.resampled},
                            {"level", kLevel},
                            {"parameters", parameter_section(calibration)}};
  cluster["calibration"].update(calibration_told(calibration.points, calibration.uncertainty));
  if (!calibration.uncertainty.draws.empty()) cluster["calibration"]["draws"] = draw_section(calibration);
  if (!settings.empty()) cluster["calibration"]["settings"] = std::move(settings);
  return cluster;
}

}  // namespace simsgd
