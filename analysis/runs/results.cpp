#include "analysis/runs/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <ostream>
#include <tuple>

#include "analysis/runs/spool.hpp"
#include "results/document.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;

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

namespace {

OrderedJson curves_of(const StoredResults& results, const std::string& key) {
  OrderedJson curves = OrderedJson::object();
  for (const char* name : kCurveNames) {
    OrderedJson points = OrderedJson::array();
    for (const CurvePoint& each : results.curve(key, name))
      points.push_back({each.step, each.time_s, each.value});
    if (!points.empty()) curves[name] = std::move(points);
  }
  return curves;
}

OrderedJson links_of(const StoredResults& results, const std::string& key) {
  OrderedJson links = OrderedJson::array();
  for (const ResultLink& each : results.busiest_links(key))
    links.push_back({{"name", each.name}, {"utilisation", each.utilisation}, {"bytes", each.bytes}});
  return links;
}

/// Short names, in the study's order, without the seed.
std::vector<std::string> axis_names_of(const ResultStudy& study) {
  std::vector<std::string> axes;
  if (!study.points.empty())
    for (const ResultCoordinate& each : study.points.front().coordinates) axes.push_back(each.axis);
  return axes;
}

OrderedJson line_of(const StoredResults& results, const ResultStudy& study, const ResultPoint& point) {
  OrderedJson coordinates = OrderedJson::array();
  for (const ResultCoordinate& each : point.coordinates)
    coordinates.push_back(
        {{"axis", each.axis}, {"pointer", each.pointer}, {"label", each.label}, {"value", each.value}});
  OrderedJson line = {{"study", study.name},
                      {"point", point.position},
                      {"label", point.label},
                      {"coordinates", std::move(coordinates)},
                      {"seed", point.seed ? OrderedJson(*point.seed) : OrderedJson()},
                      {"key", point.key},
                      {"status", point.status ? OrderedJson(status_name(*point.status)) : OrderedJson()},
                      {"error", point.error}};
  line["metrics"] = OrderedJson::object();
  for (const auto& [name, value] : point.metrics) line["metrics"][name] = value;
  OrderedJson intervals = results.intervals(point.key);
  line["intervals"] = intervals.empty() ? OrderedJson() : std::move(intervals);
  line["curves"] = curves_of(results, point.key);
  line["workers"] = results.workers(point.key);
  line["links"] = links_of(results, point.key);
  return line;
}

}  // namespace

std::size_t export_results(const std::filesystem::path& store, std::ostream& out) {
  const StoredResults results(store);
  std::size_t without = 0;
  std::vector<const ResultStudy*> studies;
  for (const ResultStudy& each : results.studies()) studies.push_back(&each);
  std::sort(studies.begin(), studies.end(), [](const ResultStudy* a, const ResultStudy* b) {
    return std::tie(a->name, a->id) < std::tie(b->name, b->id);
  });
  for (const ResultStudy* study : studies) {
    out << OrderedJson{{"study", study->name},
                       {"id", study->id},
                       {"axes", axis_names_of(*study)},
                       {"points", study->points.size()}}
               .dump()
        << '\n';
    for (const ResultPoint& point : study->points) {
      const OrderedJson line = line_of(results, *study, point);
      if (point.status == RunStatus::ok && line["intervals"].is_null()) ++without;
      out << line.dump() << '\n';
    }
  }
  if (!out.flush()) throw RunError("The export could not be written: is the disk full?");
  return without;
}

namespace {

constexpr const char* kStandardInput = "-";
constexpr const char* kInMemory = ":memory:";  // SQLite's name for it

fs::path document_in(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) ? fs::path(path) / "result.json" : fs::path(path);
}

}  // namespace

bool is_single_run(const std::string& path) {
  if (path == kStandardInput) return true;
  const fs::path file = document_in(path);
  std::error_code none;
  return fs::is_regular_file(file, none) && std::ifstream(file).peek() == '{';
}

OrderedJson run_document(const std::string& path) {
  const auto refuse = [&](const std::string& problem) {
    throw ConfigError(
        InputError{path, "", problem, "",
                   "Name a directory that simsgd run -o or simsgd-measure run -o made, or its result.json"});
  };
  std::ifstream file;
  if (path != kStandardInput) {
    file.open(document_in(path));
    if (!file) refuse("has no result.json that can be read");
  }
  OrderedJson document = OrderedJson::parse(path == kStandardInput ? std::cin : file, nullptr, false);
  const bool is_run = document.is_object() && document.contains("metrics") && document.contains("workers") &&
                      document.contains("series");
  if (!is_run) refuse("is not the document of a run");
  return document;
}

ResultStore store_of_run(const std::string& path) {
  const OrderedJson document = run_document(path);
  const OrderedJson scenario = document.value("scenario", OrderedJson::object());
  ResultPoint point;
  point.key = run_key(Json::parse(scenario.dump()));
  const std::string name = scenario.value("name", "run");
  ResultStore store(kInMemory);
  store.put(ResultStudy{name_key("run", point.key), name, path, {}, {point}});
  store.put(ended_run(point.key, document, false));
  return store;
}

namespace {

[[noreturn]] void reject_input(const fs::path& file, const std::string& problem) {
  throw ConfigError({file.string(), "", problem, "",
                     "Name files that simsgd sweep run -o made, or spool files (.jsonl) of its shards"});
}

bool is_spool(const fs::path& file) { return file.extension() == ".jsonl"; }

void put(ResultStore& into, const RunRow& run) {
  const std::optional<RunStatus> known = into.status(run.key);
  const bool better = known && *known != RunStatus::ok && run.status == RunStatus::ok;
  const bool fuller = known == RunStatus::ok && run.whole && !into.is_whole(run.key);
  // Of two failures either may have come first: a rule that does not depend on it.
  const bool before =
      known && *known != RunStatus::ok && run.status != RunStatus::ok && run.error < into.run(run.key)->error;
  if (!known || better || fuller || before) into.put(run);
}

void merge_store(const ResultStore& from, ResultStore& into) {
  for (const ResultStudy& sweep : from.studies()) into.put(sweep);
  for (const auto& [key, unused] : from.statuses()) put(into, from.run(key).value());
}

void check(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none)) reject_input(file, "does not exist");
  if (is_spool(file))
    read_spool(file, {});
  else if (!ResultStore::read_only(file))
    reject_input(file, "holds no study");
}

SpoolLines lines_into(ResultStore& store) {
  return {[&store](const RunRow& run, std::uint64_t) { put(store, run); },
          [&store](const ResultStudy& sweep) { store.put(sweep); }};
}

void merge_one(const fs::path& file, ResultStore& into) {
  if (is_spool(file)) {
    read_spool(file, lines_into(into));
    return;
  }
  merge_store(*ResultStore::read_only(file), into);
  for (const fs::path& spool : spool_files(file)) read_spool(spool, lines_into(into));
}

}  // namespace

void merge_stores(const std::vector<fs::path>& inputs, const fs::path& output) {
  for (const fs::path& input : inputs) check(input);
  ResultStore store(output);
  std::error_code none;
  for (const fs::path& input : inputs)
    if (!fs::equivalent(input, output, none)) merge_one(input, store);
  merge_spool(output, store);
}

}  // namespace simsgd
