#include "analysis/calibration/calibrate_logs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "analysis/calibration/uncertainty.hpp"
#include "sim/base/units.hpp"

namespace simsgd {

namespace {

std::vector<std::string> told_by(const Calibration& calibration) {
  std::map<int, std::pair<double, double>> sizes;  // by number of ranks: the least and the most
  std::set<std::string> operations;
  for (const Measurement& row : calibration.measurements) {
    auto& [least, most] = sizes.emplace(row.workers, std::pair(row.bytes, row.bytes)).first->second;
    least = std::min(least, row.bytes);
    most = std::max(most, row.bytes);
    operations.insert(row.operation);
  }
  std::vector<std::pair<std::pair<double, double>, std::vector<int>>> alike;
  for (const auto& [workers, range] : sizes) {
    if (alike.empty() || alike.back().first != range) alike.push_back({range, {}});
    alike.back().second.push_back(workers);
  }
  std::vector<std::string> among;
  for (const auto& [range, workers] : alike)
    among.push_back(fmt::format("{} to {} among {}", human_bytes(range.first), human_bytes(range.second),
                                fmt::join(workers, ", ")));
  const Json& cluster = calibration.spec.scenario.at("cluster");
  const int per_node = cluster.at("gpus_per_node");
  std::vector<std::string> all = {fmt::format("determined: {} of {} ranks in nodes of {}",
                                              fmt::join(operations, ", "), fmt::join(among, ", and "),
                                              per_node)};
  const ModelResult& chosen = calibration.models[calibration.chosen];
  if (std::isfinite(chosen.left_out_error))
    all.push_back(fmt::format(
        "determined: parts that were left out of the fit ({}) are predicted with a mean error of {:.1f} %",
        fmt::join(calibration.spec.fit.leave_out, ", "), 100 * chosen.left_out_error));
  if (cluster.contains("nodes"))
    all.push_back(
        "not determined: anything between nodes; the cluster has one node. Add a log of two nodes or more");
  else if (sizes.size() < 3)
    all.push_back(
        "not determined: how times grow with nodes beyond these; no number of ranks could be left out, so intervals widen by assumption. Add a log of twice as many ranks");
  if (sizes.size() == 1)
    all.push_back(
        "not determined: launch and latency of a step separately, so times of small messages among other numbers of ranks are uncertain");
  constexpr double kWide = 2;  // the interval's ends are further apart than this factor
  const std::vector<NumberInterval> intervals = number_intervals(calibration, 0.9);
  for (std::size_t j = 0; j < calibration.model().parameters.size(); ++j) {
    const ParameterSpec& parameter = calibration.model().parameters[j];
    for (const NumberInterval& each : intervals)
      if (each.pointer == parameter.key(parameter.pointers.front()) &&
          (calibration.best().at_bound[j] || (each.known && each.high > kWide * each.low)))
        all.push_back(fmt::format("hardly determined: {}{}", parameter.name,
                                  calibration.best().at_bound[j] ? ", which ends at a bound" : ""));
  }
  all.emplace_back(
      "not determined: computing (give --workload a trace), and operations that were not measured");
  return all;
}

}  // namespace

LogCalibration calibrate_logs(LogSpec logs, const CalibrationSettings& settings) {
  std::vector<std::pair<std::string, std::string>> idle;  // the model, and its parameter
  while (true) try {
      LogCalibration made{calibrate(read_spec(logs.spec, "logs", SpecUse::cluster), settings), {}, {}};
      made.told = told_by(*made.calibration);
      for (const auto& [model, name] : idle)
        if (model == made.calibration->model().name)
          made.told.push_back("not determined: " + name +
                              ": no measurement depends on it, so it keeps NCCL's own value");
      made.spec = std::move(logs.spec);
      return made;
    } catch (const IdleParameters& error) {
      for (Json& model : logs.spec["models"]) {
        if (model["name"] != error.model) continue;
        Json kept = Json::array();
        for (Json& each : model["parameters"])
          if (std::find(error.names.begin(), error.names.end(), each["name"]) == error.names.end())
            kept.push_back(std::move(each));
        model["parameters"] = std::move(kept);
      }
      for (const std::string& name : error.names) idle.emplace_back(error.model, name);
    }
}

}  // namespace simsgd
