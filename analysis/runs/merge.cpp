#include "analysis/runs/merge.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/runs/database.hpp"
#include "analysis/runs/spool.hpp"
#include "analysis/runs/store.hpp"
#include "results/curves.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

[[noreturn]] void reject(const fs::path& file, const std::string& problem) {
  throw ConfigError({file.string(), "", problem, "",
                     "Name files that simsgd sweep run -o made, or spool files (.jsonl) of its shards"});
}

bool is_spool(const fs::path& file) { return file.extension() == ".jsonl"; }

// The layout that a file says it has; 0 where it is none of ours.
std::int64_t layout_of(const fs::path& file) {
  try {
    const Database database(file, Database::Mode::read);
    Statement application(database, "PRAGMA application_id"), version(database, "PRAGMA user_version");
    if (!application.step() || application.integer() != kStoreApplication || !version.step()) return 0;
    return version.integer();
  } catch (const RunError&) {
    return 0;
  }
}

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
  if (!fs::exists(file, none)) reject(file, "does not exist");
  if (is_spool(file)) {
    read_spool(file, {[](const RunRow&, std::uint64_t) {}, [](const ResultStudy&) {}});
    return;
  }
  if (layout_of(file) != kConvertedVersion && !ResultStore::read_only(file)) reject(file, "holds no study");
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
  try {
    if (layout_of(file) == kConvertedVersion)
      read_converted(file, {[&into](const ResultStudy& sweep) { into.put(sweep); },
                            [&into](const RunRow& run) { put(into, run); }});
    else
      merge_store(*ResultStore::read_only(file), into);
  } catch (const OrderedJson::exception&) {
    throw damaged(Database(file, Database::Mode::read), "JSON that is not a result");
  }
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

// Files of the layout before this one, whose documents lay in fifteen tables.

namespace {

class Layout3 {
 public:
  explicit Layout3(const std::filesystem::path& file) : database_(file, Database::Mode::read) {}

  std::vector<ResultStudy> studies() const { return studies_in(database_); }

  void runs(const std::function<void(const RunRow&)>& take) const {
    Statement runs(
        database_,
        "SELECT r.id, key, model_version, status, error, s.text, r.scenario, context, f.text, own, document FROM runs r JOIN scenarios s ON s.id = base LEFT JOIN facts f ON f.id = facts");
    while (runs.step()) {
      const std::int64_t id = runs.integer();
      RunRow head;
      head.key = runs.text();
      head.model_version = static_cast<int>(runs.integer());
      head.status = status_from_name(runs.text());
      head.error = runs.text();
      const std::string base = runs.text();
      const OrderedJson scenario = OrderedJson::parse(unpacked(runs.text(), unpacked(base), Dictionary::end));
      const OrderedJson context = OrderedJson::parse(runs.text());
      const std::string facts = runs.text(), own = runs.text(), whole = runs.text();
      OrderedJson document = OrderedJson::object();
      if (head.status == RunStatus::ok)
        document = whole.empty() ? brief(id, facts, own) : OrderedJson::parse(unpacked(whole));
      document["context"] = context;
      document["scenario"] = scenario;
      RunRow run = head;
      if (head.status == RunStatus::ok)
        run = ended_run(head.key, std::move(document), true);
      else
        run.document = document.dump();
      run.model_version = head.model_version;
      take(run);
    }
  }

 private:
  Statement of_run(std::int64_t id, const std::string& sql) const {
    Statement rows(database_, sql);
    rows.bind(id);
    return rows;
  }

  OrderedJson brief(std::int64_t id, const std::string& facts, const std::string& own) const {
    OrderedJson document = OrderedJson::parse(facts);
    document["metrics"] = OrderedJson::object();
    Statement metrics = of_run(
        id,
        "SELECT name, value FROM metric_values JOIN metric_info m ON m.id = metric WHERE run = ? ORDER BY metric");
    while (metrics.step()) {
      const std::string name = metrics.text();
      document["metrics"][name] = metrics.real();
    }
    document["series"] = series(id);
    if (!own.empty()) document.update(OrderedJson::parse(own));
    if (document.contains("worker_spreads")) document["worker_spreads"] = spreads(id);
    if (document.contains("links")) document["links"] = links(id);
    return document;
  }

  OrderedJson spreads(std::int64_t id) const {
    OrderedJson spreads = OrderedJson::object();
    Statement rows = of_run(
        id,
        "SELECT name, least, low_quartile, median, high_quartile, most FROM worker_values JOIN names n ON n.id = quantity WHERE run = ? ORDER BY name");
    while (rows.step()) {
      OrderedJson& spread = spreads[rows.text()];
      for (int i = 0; i < 5; ++i) spread.push_back(rows.real());
    }
    return spreads;
  }

  OrderedJson links(std::int64_t id) const {
    OrderedJson links = OrderedJson::array();
    Statement rows = of_run(
        id,
        "SELECT name, bandwidth_Bps, bytes, utilisation FROM link_values JOIN names n ON n.id = link WHERE run = ? ORDER BY place");
    while (rows.step()) {
      OrderedJson& link = links.emplace_back();
      link["name"] = rows.text();
      for (const char* part : {"bandwidth_Bps", "bytes", "utilisation"}) link[part] = rows.real();
    }
    return links;
  }

  OrderedJson series(std::int64_t id) const {
    OrderedJson series = OrderedJson::object();
    for (const Curve& curve : curves()) {
      std::map<std::pair<std::int64_t, double>, OrderedJson> points;
      Statement rows = of_run(
          id,
          "SELECT name, step, time_s, value FROM curve_values JOIN names n ON n.id = curve WHERE run = ?");
      while (rows.step()) {
        const std::string name = rows.text();
        if (std::none_of(curve.columns.begin(), curve.columns.end(),
                         [&](const CurveColumn& each) { return each.name == name; }))
          continue;
        const std::int64_t step = rows.integer();
        const double time_s = rows.real();
        OrderedJson& point = points[{step, time_s}];
        if (point.is_null()) point = empty_point(curve, step, time_s);
        point[name] = rows.real();
      }
      OrderedJson& all = series[curve.series] = OrderedJson::array();
      for (auto& [place, point] : points) all.push_back(std::move(point));
    }
    return series;
  }

  static OrderedJson empty_point(const Curve& curve, std::int64_t step, double time_s) {
    OrderedJson point = {{"step", step}, {"time_s", time_s}};
    for (const CurveColumn& each : curve.columns)
      if (each.in_file && !point.contains(each.name)) point[each.name] = nullptr;
    return point;
  }

  Database database_;
};

}  // namespace

void read_converted(const std::filesystem::path& file, const ConvertedRows& rows) {
  const Layout3 old(file);
  for (const ResultStudy& study : old.studies()) rows.study(study);
  old.runs(rows.run);
}

}  // namespace simsgd
