#include "analysis/runs/results.hpp"

#include <algorithm>
#include <tuple>

#include "analysis/runs/store.hpp"
#include "results/document.hpp"
#include "scenarios/language/axis_values.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

ResultPoint point_of(const SweepPointRow& row, std::size_t position) {
  ResultPoint point{position, row.label, {}, {}, row.key, {}, "", {}};
  for (const OrderedJson& each : row.coordinates) {
    const std::string pointer = each.at("pointer");
    const OrderedJson& value = each.at("value");
    if (pointer == "/seed" && value.is_number_integer()) {
      point.seed = value.get<std::int64_t>();
      continue;
    }
    point.coordinates.push_back(
        {each.contains("axis") ? each["axis"].get<std::string>() : axis_label(pointer), pointer,
         each.contains("label") ? each["label"].get<std::string>() : value_label(Json::parse(value.dump())),
         value,
         each.contains("circumstance") ? std::optional(each["circumstance"].get<bool>()) : std::nullopt});
  }
  return point;
}

const OrderedJson& part(const OrderedJson& document, const char* name) {
  static const OrderedJson none;
  const auto found = document.find(name);
  return found == document.end() ? none : *found;
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
  const std::unordered_map<std::string, StoredRun> runs = store_->runs();
  for (const SweepRow& sweep : store_->sweeps()) {
    ResultStudy study{sweep.id, sweep.name, sweep.file, {}, {}};
    for (const SweepPointRow& row : sweep.points) {
      ResultPoint point = point_of(row, study.points.size());
      if (const auto run = runs.find(point.key); run != runs.end()) {
        point.status = run->second.status;
        point.metrics = run->second.metrics;
        point.error = run->second.error;
      } else if (!row.coordinates.empty() && row.coordinates.back().value("optional", false)) {
        continue;  // a seed that the study turned out not to need
      }
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
  return part(document_of(key), "scenario");
}

std::map<std::string, std::vector<std::string>> StoredResults::notes() const { return store_->notes(); }

std::vector<CurvePoint> StoredResults::curve(const std::string& key, const std::string& name) const {
  std::vector<CurvePoint> curve;
  for (const OrderedJson& points : part(document_of(key), "series"))
    for (const OrderedJson& each : points)
      if (const auto value = each.find(name); value != each.end() && value->is_number())
        curve.push_back({each.at("step"), each.at("time_s"), *value});
  std::stable_sort(curve.begin(), curve.end(), [](const CurvePoint& a, const CurvePoint& b) {
    return std::tie(a.step, a.time_s) < std::tie(b.step, b.time_s);
  });
  return curve;
}

OrderedJson StoredResults::intervals(const std::string& key) const { return intervals_in(document_of(key)); }

std::vector<ResultLink> StoredResults::busiest_links(const std::string& key) const {
  std::vector<ResultLink> links;
  for (const OrderedJson& each : part(document_of(key), "links"))
    if (links.size() < kBriefLinks)
      links.push_back({each.at("name"), each.at("utilisation"), each.at("bytes"), each.at("bandwidth_Bps")});
  return links;
}

OrderedJson StoredResults::workers(const std::string& key) const {
  const OrderedJson& document = document_of(key);
  const OrderedJson brief = document.contains("workers") ? brief_document(document) : document;
  return brief.value("worker_spreads", OrderedJson::object());
}

const OrderedJson& StoredResults::document_of(const std::string& key) const {
  if (last_.first != key) last_ = {key, store_->document(key)};
  return last_.second;
}

}  // namespace simsgd
