#include "analysis/runs/results.hpp"

#include <algorithm>
#include <tuple>

#include "analysis/runs/single_run.hpp"
#include "analysis/runs/store.hpp"
#include "results/document.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

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
  std::optional<ResultStore> store;
  if (is_single_run(file.string()))
    store = store_of_run(file.string());
  else
    store = ResultStore::read_only(file);
  std::error_code none;
  if (!store) reject(fs::exists(file, none) ? "holds no study" : "does not exist");
  store_ = std::make_unique<const ResultStore>(std::move(*store));
  const std::unordered_map<std::string, StoredRun> runs = store_->runs();
  studies_ = store_->studies();
  for (ResultStudy& study : studies_) {
    for (ResultPoint& point : study.points)
      if (const auto run = runs.find(point.key); run != runs.end()) {
        point.status = run->second.status;
        point.metrics = run->second.metrics;
        point.error = run->second.error;
      }
    // Seeds that the study turned out not to need.
    std::erase_if(study.points, [](const ResultPoint& point) { return point.optional && !point.status; });
    for (std::size_t i = 0; i < study.points.size(); ++i) study.points[i].position = i;
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
