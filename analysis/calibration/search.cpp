#include "analysis/calibration/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/calibration/entry_table.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

constexpr double kOutlier = 0.1;
constexpr double kProbe_s = 1e-6;

Json policy_with(const std::string& schedule, const std::string& key, double value) {
  Json way = {{"schedule", schedule}};
  if (!key.empty()) way[key] = value;
  return Json::array({std::move(way)});
}

/// Predictions with costs on and off say what each cost does: they are linear in all of them.
EntryKind way_kind(const Predictor& predictor, const Points& points, const SearchSpec& search,
                   const WeightedPoints& what, const std::string& schedule) {
  EntryKind kind{schedule, search.parts, {}};
  if (kind.costs.empty()) kind.costs = {"launch", "step_latency", "bandwidth_share", "payload"};
  std::vector<Patch> patches{{{search.pointer, policy_with(schedule, "", 0)}}};
  for (const std::string& cost : kind.costs)
    patches.push_back({{search.pointer, policy_with(schedule, cost,
                                                    cost == "bandwidth_share" ? 0.5
                                                    : cost == "payload"       ? 1e-12
                                                                              : kProbe_s)}});
  const std::vector<std::vector<double>> values = predictor.predict(patches, what.which);
  for (std::size_t i = 0; i < what.which.size(); ++i) {
    const Point& point = points.points[what.which[i]];
    const double measured = point.measurement.value;
    RelativeRow row{point.bytes(), measured, what.weights[i], values[0][i] / measured, CostVector::Zero()};
    for (std::size_t c = 0; c < kind.costs.size(); ++c) {
      // Of a share the cost is 1 / share - 1, which is 1 where half of the bandwidth is left.
      const double unit = kind.costs[c] == "bandwidth_share" ? 1
                          : kind.costs[c] == "payload"       ? 1e-12
                                                             : kProbe_s;
      row.features[static_cast<Eigen::Index>(c)] = (values[c + 1][i] - values[0][i]) / unit / measured;
    }
    kind.rows.push_back(row);
  }
  return kind;
}

/// Of messages: latency + bytes / bandwidth, beside what the host adds.
EntryKind segment_kind(const Predictor& predictor, const Points& points, const SearchSpec& search,
                       const WeightedPoints& what) {
  constexpr double kSlow_Bps = 1e6;  // slower than any link, so that it is allowed
  EntryKind kind{"", {"latency", "bandwidth"}, {}};
  const Patch patch{{search.pointer, Json::array({{{"latency", 0}, {"bandwidth", kSlow_Bps}}})}};
  const std::vector<double> values = predictor.predict(patch, what.which);
  for (std::size_t i = 0; i < what.which.size(); ++i) {
    const Point& point = points.points[what.which[i]];
    const double measured = point.measurement.value;
    RelativeRow row{point.bytes(), measured, what.weights[i],
                    (values[i] - point.bytes() / kSlow_Bps) / measured, CostVector::Zero()};
    row.features[0] = 1 / measured;
    row.features[1] = point.bytes() / measured;
    kind.rows.push_back(row);
  }
  return kind;
}

Json entry_json(const EntryKind& kind, const CostVector& costs, std::optional<double> up_to) {
  Json json = Json::object();
  if (up_to) json["up_to"] = *up_to;
  if (!kind.schedule.empty()) json["schedule"] = kind.schedule;
  for (std::size_t c = 0; c < kind.costs.size(); ++c) {
    const double cost = costs[static_cast<Eigen::Index>(c)];
    if (kind.costs[c] == "bandwidth_share")
      json["bandwidth_share"] = 1 / (1 + cost);
    else if (kind.costs[c] == "bandwidth")
      json["bandwidth"] = cost > 0 ? 1 / cost : 1e18;
    else
      json[kind.costs[c]] = cost;
  }
  return json;
}

std::vector<EntryKind> kinds_of(const Predictor& predictor, const Points& points, const SearchSpec& search,
                                const WeightedPoints& what) {
  std::vector<EntryKind> kinds;
  if (search.pointer.ends_with("/segments")) {
    kinds.push_back(segment_kind(predictor, points, search, what));
    return kinds;
  }
  for (const std::string& schedule : search.schedules)
    kinds.push_back(way_kind(predictor, points, search, what, schedule));
  return kinds;
}

/// The part of the points that the search is about: messages for segments, collectives for policies.
WeightedPoints part_for(const Points& points, const SearchSpec& search, const WeightedPoints& what) {
  const auto wanted =
      search.pointer.ends_with("/segments") ? PredictSpec::Kind::message : PredictSpec::Kind::collective;
  WeightedPoints part;
  for (std::size_t i = 0; i < what.which.size(); ++i) {
    if (points.settings[points.points[what.which[i]].setting].kind != wanted) continue;
    part.which.push_back(what.which[i]);
    part.weights.push_back(what.weights[i]);
  }
  return part;
}

/// A link is as fast as its fastest segment.
void add_link(Patch& patch, const std::string& pointer, const Json& table) {
  if (!pointer.ends_with("/segments")) return;
  double fastest = 0;
  for (const Json& each : table) fastest = std::max(fastest, each["bandwidth"].get<double>());
  patch.emplace_back(pointer.substr(0, pointer.rfind('/')) + "/bandwidth", fastest);
}

/// The parts of a search: all of its points, or those of each number of workers (0: of any).
std::map<int, WeightedPoints> tables_wanted(const Points& points, const SearchSpec& search,
                                            const WeightedPoints& what) {
  std::map<int, WeightedPoints> wanted;
  const WeightedPoints part = part_for(points, search, what);
  for (std::size_t i = 0; i < part.which.size(); ++i) {
    WeightedPoints& table = wanted[search.per_workers ? points.points[part.which[i]].measurement.workers : 0];
    table.which.push_back(part.which[i]);
    table.weights.push_back(part.weights[i]);
  }
  return wanted;
}

Json with_workers(Json entry, int workers) {
  if (workers > 0) entry["workers"] = workers;
  return entry;
}

void find_entries(const std::vector<EntryKind>& kinds, const SearchSpec& search, int workers, Json& table) {
  const std::vector<TableEntry> entries = best_table(kinds, search.most, kOutlier);
  if (entries.empty())
    throw RunError("Too few sizes were measured to fit the table at " + search.pointer + ".");
  for (const TableEntry& entry : entries)
    table.push_back(
        with_workers(entry_json(kinds[entry.kind], entry.costs,
                                std::isfinite(entry.up_to) ? std::optional(entry.up_to) : std::nullopt),
                     workers));
}

/// The entries of `table` for `workers`, their costs fitted again.
void refit_entries(const std::vector<EntryKind>& kinds, int workers, const Json& table, Json& again) {
  double below = -1;
  for (const Json& entry : table) {
    if (entry.value("workers", 0) != workers) continue;
    const EntryKind& kind = *std::ranges::find_if(
        kinds, [&](const EntryKind& each) { return each.schedule == entry.value("schedule", ""); });
    const double up_to = entry.value("up_to", std::numeric_limits<double>::infinity());
    std::vector<RelativeRow> rows;
    for (const RelativeRow& row : kind.rows)
      if (row.size > below && row.size <= up_to) rows.push_back(row);
    below = up_to;
    const EntryFit fit = robust_least_squares(rows, static_cast<int>(kind.costs.size()), kOutlier);
    // A draw without a size of this entry says nothing of it.
    again.push_back(
        rows.empty() ? entry
                     : with_workers(entry_json(kind, fit.costs,
                                               entry.contains("up_to") ? std::optional(up_to) : std::nullopt),
                                    workers));
  }
}

}  // namespace

Patch find_tables(const Predictor& predictor, const Points& points, const ModelSpec& model,
                  const WeightedPoints& what) {
  Patch tables;
  for (const SearchSpec& search : model.searches) {
    Json table = Json::array();
    for (const auto& [workers, part] : tables_wanted(points, search, what))
      find_entries(kinds_of(predictor, points, search, part), search, workers, table);
    add_link(tables, search.pointer, table);
    tables.emplace_back(search.pointer, std::move(table));
  }
  return tables;
}

Patch refit_tables(const Predictor& predictor, const Points& points, const ModelSpec& model,
                   const WeightedPoints& what, const Patch& tables) {
  Patch again;
  for (const SearchSpec& search : model.searches) {
    const auto found =
        std::ranges::find_if(tables, [&](const auto& each) { return each.first == search.pointer; });
    std::map<int, WeightedPoints> parts = tables_wanted(points, search, what);
    Json table = Json::array();
    std::vector<int> all;  // numbers of workers, as the table has them
    for (const Json& entry : found->second)
      if (const int workers = entry.value("workers", 0); all.empty() || all.back() != workers)
        all.push_back(workers);
    for (const int workers : all)
      refit_entries(kinds_of(predictor, points, search, parts[workers]), workers, found->second, table);
    add_link(again, search.pointer, table);
    again.emplace_back(search.pointer, std::move(table));
  }
  return again;
}

}  // namespace simsgd
