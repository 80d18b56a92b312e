#include "analysis/store/results.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/store/store.hpp"
#include "scenarios/language/axis_labels.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr std::size_t kMostLinks = 10;

ResultPoint point_of(const SweepPointRow& row, std::size_t position) {
  ResultPoint point{position, row.label, {}, {}, row.key, {}, "", {}};
  for (const OrderedJson& each : row.coordinates) {
    const std::string pointer = each.at("pointer");
    const OrderedJson& value = each.at("value");
    if (pointer == "/seed" && value.is_number_integer()) {
      point.seed = value.get<std::int64_t>();
      continue;
    }
    point.coordinates.push_back({each.value("axis", axis_label(pointer)), pointer,
                                 each.value("label", value_label(Json::parse(value.dump()))), value});
  }
  return point;
}

// Of sorted values, between them linearly.
double quantile_of(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

StoredResults::StoredResults(const fs::path& file) {
  const auto reject = [&](const std::string& problem) {
    throw ConfigError({file.string(), "", problem, "", "Name a file that simsgd sweep run -o made"});
  };
  std::optional<ResultStore> store = ResultStore::read_only(file);
  std::error_code none;
  if (!store) reject(fs::exists(file, none) ? "holds no study" : "does not exist");
  store_ = std::make_unique<const ResultStore>(std::move(*store));
  for (const SweepRow& sweep : store_->sweeps()) {
    ResultStudy study{sweep.id, sweep.name, sweep.file, {}, {}};
    for (const SweepPointRow& row : sweep.points) {
      ResultPoint point = point_of(row, study.points.size());
      point.status = store_->status(point.key);
      // A seed that the study turned out not to need.
      if (!point.status && !row.coordinates.empty() && row.coordinates.back().value("optional", false))
        continue;
      if (point.status == RunStatus::ok) point.metrics = store_->metrics(point.key);
      if (point.status && point.status != RunStatus::ok) point.error = store_->run(point.key)->error;
      study.points.push_back(std::move(point));
    }
    if (!study.points.empty())
      for (const ResultCoordinate& each : study.points.front().coordinates) study.axes.push_back(each.axis);
    studies_.push_back(std::move(study));
  }
  if (studies_.empty()) reject("holds no study");
}

StoredResults::~StoredResults() = default;
StoredResults::StoredResults(StoredResults&&) noexcept = default;
StoredResults& StoredResults::operator=(StoredResults&&) noexcept = default;

OrderedJson StoredResults::scenario(const std::string& key) const {
  const std::optional<RunRow> run = store_->run(key);
  return run ? run->scenario : OrderedJson();
}

std::vector<CurvePoint> StoredResults::curve(const std::string& key, const std::string& name) const {
  return store_->curve(key, name);
}

std::vector<ResultLink> StoredResults::busiest_links(const std::string& key) const {
  std::vector<ResultLink> links;
  const std::optional<RunRow> run = store_->run(key);
  if (!run || run->status != RunStatus::ok) return links;
  for (const OrderedJson& each : run->document.at("links"))
    links.push_back({each.at("name"), each.at("utilisation"), each.at("bytes")});
  std::stable_sort(links.begin(), links.end(),
                   [](const ResultLink& a, const ResultLink& b) { return a.utilisation > b.utilisation; });
  links.resize(std::min(links.size(), kMostLinks));
  return links;
}

std::map<std::string, WorkerSpread> StoredResults::workers(const std::string& key) const {
  std::map<std::string, std::vector<double>> values;
  const std::optional<RunRow> run = store_->run(key);
  if (!run || run->status != RunStatus::ok) return {};
  for (const OrderedJson& worker : run->document.at("workers")) {
    for (const char* name : {"steps", "samples", "time_s"}) values[name].push_back(worker.at(name));
    for (const auto& [name, value] : worker.at("time_by_activity").items()) values[name].push_back(value);
  }
  std::map<std::string, WorkerSpread> spreads;
  for (auto& [name, each] : values) {
    std::sort(each.begin(), each.end());
    spreads[name] = {each.front(), quantile_of(each, 0.25), quantile_of(each, 0.5), quantile_of(each, 0.75),
                     each.back()};
  }
  return spreads;
}

}  // namespace simsgd
