// Runs out of the store.
#include <fmt/format.h>

#include "analysis/store/packing.hpp"
#include "analysis/store/store.hpp"
#include "results/curves.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson object_of(const Database& database, const std::string& text) {
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (json.is_discarded()) throw damaged(database, "text that is no JSON");
  if (!json.is_object()) throw damaged(database, "JSON that is no object");
  return json;
}

constexpr const char* kOfRun = " WHERE run = (SELECT id FROM runs WHERE key = ?) ";

}  // namespace

std::optional<RunRow> ResultStore::run(const std::string& key) const {
  Statement statement(
      *database_,
      "SELECT model_version, status, error, base, scenario, context, own, document, f.text FROM runs LEFT JOIN facts f ON f.id = facts WHERE key = ?");
  if (!statement.bind(key).step()) return std::nullopt;
  RunRow run;
  run.key = key;
  run.model_version = static_cast<int>(statement.integer());
  run.status = status_from_name(statement.text());
  run.error = statement.text();
  const std::int64_t base_id = statement.integer();
  run.scenario = scenario_text(base_id, statement.text());
  run.context = object_of(*database_, statement.text());
  const std::string own = statement.text(), bytes = statement.text(), facts = statement.text();
  if (run.status != RunStatus::ok) return run;
  if (bytes.empty()) {
    run.document = document_of(key, facts, own);
    return run;
  }
  try {
    run.document = object_of(*database_, unpacked(bytes));
  } catch (const RunError&) {
    throw damaged(*database_, "bytes that zlib did not make");
  }
  return run;
}

OrderedJson ResultStore::intervals(const std::string& key) const {
  const std::optional<RunRow> found = run(key);
  return found && found->status == RunStatus::ok
             ? joined_document(*found).value("intervals", OrderedJson::object())
             : OrderedJson::object();
}

OrderedJson ResultStore::document_of(const std::string& key, const std::string& facts,
                                     const std::string& own) const {
  OrderedJson document = object_of(*database_, facts);
  for (const char* part : {"metrics", "series"})
    if (!document.contains(part)) throw damaged(*database_, fmt::format("a document without \"{}\"", part));
  document["metrics"] = OrderedJson::object();
  Statement metric(*database_,
                   std::string("SELECT name, value FROM metric_values JOIN metric_info m ON m.id = metric") +
                       kOfRun + "ORDER BY metric");
  metric.bind(key);
  while (metric.step()) {
    const std::string name = metric.text();
    document["metrics"][name] = metric.real();
  }
  document["series"] = series_of(key);
  const OrderedJson members = own.empty() ? OrderedJson::object() : object_of(*database_, own);
  for (const auto& [name, part] : members.items()) document[name] = part;
  if (document.contains("worker_spreads")) {
    OrderedJson& spreads = document["worker_spreads"] = OrderedJson::object();
    for (const auto& [name, each] : workers(key))
      spreads[name] = {each.least, each.low_quartile, each.median, each.high_quartile, each.most};
  }
  if (document.contains("links")) {
    OrderedJson& links = document["links"] = OrderedJson::array();
    for (const ResultLink& each : this->links(key))
      links.push_back({{"name", each.name},
                       {"bandwidth_Bps", each.bandwidth_Bps},
                       {"bytes", each.bytes},
                       {"utilisation", each.utilisation}});
  }
  return document;
}

// Points at which nothing has a value, and columns that are lists, are in whole documents alone.
OrderedJson ResultStore::series_of(const std::string& key) const {
  OrderedJson series = OrderedJson::object();
  for (const Curve& curve : curves()) {
    std::map<std::pair<double, double>, OrderedJson> points;  // by step and time
    for (const CurveColumn& column : curve.columns) {
      for (const CurvePoint& each : this->curve(key, column.name)) {
        OrderedJson& point = points[{each.step, each.time_s}];
        if (point.is_null()) {
          point = {{"step", static_cast<std::int64_t>(each.step)}, {"time_s", each.time_s}};
          for (const CurveColumn& any : curve.columns)
            if (any.in_file && any.name != "step" && any.name != "time_s") point[any.name] = nullptr;
        }
        point[column.name] = each.value;
      }
    }
    series[curve.series] = OrderedJson::array();
    for (auto& [place, point] : points) series[curve.series].push_back(std::move(point));
  }
  return series;
}

std::unordered_map<std::string, StoredRun> ResultStore::runs() const {
  std::unordered_map<std::string, StoredRun> runs = statuses();
  std::unordered_map<std::int64_t, StoredRun*> by_id;
  Statement ids(*database_, "SELECT id, key FROM runs");
  while (ids.step()) {
    const std::int64_t id = ids.integer();
    if (const auto found = runs.find(ids.text()); found != runs.end()) by_id[id] = &found->second;
  }
  std::unordered_map<std::int64_t, std::string> names;
  Statement info(*database_, "SELECT id, name FROM metric_info");
  while (info.step()) {
    const std::int64_t id = info.integer();
    names[id] = info.text();
  }
  Statement values(*database_, "SELECT run, metric, value FROM metric_values ORDER BY run");
  std::int64_t last = -1;
  StoredRun* run = nullptr;
  while (values.step()) {
    const std::int64_t id = values.integer(), metric = values.integer();
    if (id != last) {
      const auto found = by_id.find(id);
      run = found == by_id.end() ? nullptr : found->second;
      last = id;
    }
    if (run != nullptr) run->metrics.emplace(names[metric], values.real());
  }
  return runs;
}

std::map<std::string, double> ResultStore::metrics(const std::string& key) const {
  Statement& statement = prepared(
      std::string("SELECT name, value FROM metric_values JOIN metric_info m ON m.id = metric") + kOfRun);
  statement.bind(key);
  std::map<std::string, double> metrics;
  while (statement.step()) {
    const std::string name = statement.text();
    metrics[name] = statement.real();
  }
  return metrics;
}

std::vector<CurvePoint> ResultStore::curve(const std::string& key, const std::string& name) const {
  Statement& statement = prepared(std::string("SELECT step, time_s, value FROM curve_values") + kOfRun +
                                  "AND curve = (SELECT id FROM names WHERE name = ?) ORDER BY step, time_s");
  statement.bind(key).bind(name);
  std::vector<CurvePoint> curve;
  while (statement.step()) {
    const auto step = static_cast<double>(statement.integer());
    const double time_s = statement.real();
    curve.push_back({step, time_s, statement.real()});
  }
  return curve;
}

std::vector<ResultLink> ResultStore::links(const std::string& key) const {
  Statement& statement = prepared(
      std::string(
          "SELECT name, utilisation, bytes, bandwidth_Bps FROM link_values JOIN names n ON n.id = link") +
      kOfRun + "ORDER BY place");
  statement.bind(key);
  std::vector<ResultLink> links;
  while (statement.step()) {
    ResultLink link;
    link.name = statement.text();
    link.utilisation = statement.real();
    link.bytes = statement.real();
    link.bandwidth_Bps = statement.real();
    links.push_back(std::move(link));
  }
  return links;
}

std::map<std::string, WorkerSpread> ResultStore::workers(const std::string& key) const {
  Statement& statement = prepared(
      std::string(
          "SELECT name, least, low_quartile, median, high_quartile, most FROM worker_values JOIN names n ON n.id = quantity") +
      kOfRun);
  statement.bind(key);
  std::map<std::string, WorkerSpread> spreads;
  while (statement.step()) {
    WorkerSpread& spread = spreads[statement.text()];
    for (double* each :
         {&spread.least, &spread.low_quartile, &spread.median, &spread.high_quartile, &spread.most})
      *each = statement.real();
  }
  return spreads;
}

std::map<std::string, std::vector<std::string>> ResultStore::notes() const {
  std::map<std::int64_t, std::vector<std::string>> of_facts;
  Statement facts(*database_, "SELECT id, text FROM facts");
  while (facts.step()) {
    const std::int64_t id = facts.integer();
    const OrderedJson said = object_of(*database_, facts.text()).value("notes", OrderedJson::array());
    if (said.is_array() && !said.empty()) of_facts[id] = said.get<std::vector<std::string>>();
  }
  std::map<std::string, std::vector<std::string>> notes;
  Statement runs(*database_, "SELECT key, facts FROM runs WHERE facts IS NOT NULL");
  while (runs.step()) {
    const std::string key = runs.text();
    if (const auto found = of_facts.find(runs.integer()); found != of_facts.end()) notes[key] = found->second;
  }
  return notes;
}

std::string ResultStore::scenario(const std::string& key) const {
  Statement& statement = prepared("SELECT base, scenario FROM runs WHERE key = ?");
  if (!statement.bind(key).step()) return "";
  const std::int64_t base_id = statement.integer();
  const std::string bytes = statement.text();
  statement.reset();
  return scenario_text(base_id, bytes);
}

}  // namespace simsgd
