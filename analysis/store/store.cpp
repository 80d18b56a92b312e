#include "analysis/store/store.hpp"

#include <fmt/format.h>

#include "analysis/store/store_schema.hpp"
#include "results/document.hpp"
#include "sim/base/errors.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

std::int64_t pragma(const Database& database, const std::string& name) {
  Statement statement(database, "PRAGMA " + name);
  return statement.step() ? statement.integer() : 0;
}

bool empty(const Database& database) {
  Statement statement(database, "SELECT count(*) FROM sqlite_schema");
  return statement.step() && statement.integer() == 0;
}

// Anything that goes wrong before the first write is about the file that the user named.
Database open(const fs::path& file, Database::Mode mode) {
  const std::string remedy = "Name a new file, or one that simsgd sweep made";
  const auto reject = [&](const std::string& problem) {
    throw ConfigError({file.string(), "", problem, "", remedy});
  };
  try {
    Database database(file, mode);
    if (empty(database)) return database;
    if (pragma(database, "application_id") != kStoreApplication) reject("is no result file of simsgd");
    if (const std::int64_t version = pragma(database, "user_version"); version != kStoreVersion)
      reject(
          fmt::format("has layout {}, and this simsgd reads and writes layout {}", version, kStoreVersion));
    return database;
  } catch (const RunError& error) {
    reject(fmt::format("cannot be used as a result file ({})", error.what()));
    throw;
  }
}

[[noreturn]] void damaged(const Database& database, const std::string& what) {
  throw RunError(
      fmt::format("{} is damaged: it holds {}. Name a new file with -o, or remove this one and run again.",
                  database.file().string(), what));
}

OrderedJson json_of(const Database& database, const std::string& text) {
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (json.is_discarded()) damaged(database, "text that is no JSON");
  return json;
}

OrderedJson object_of(const Database& database, const std::string& text) {
  OrderedJson json = json_of(database, text);
  if (!json.is_object()) damaged(database, "JSON that is no object");
  return json;
}

// The document as the column has it, and back: what has columns of its own is null there.
std::string without_own_columns(OrderedJson document) {
  document["context"] = nullptr;
  document["scenario"] = nullptr;
  return document.dump();
}

}  // namespace

ResultStore::ResultStore(const fs::path& file, Database::Mode mode) : database_(open(file, mode)) {}

ResultStore::ResultStore(const fs::path& file) : ResultStore(file, Database::Mode::create) {
  database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  create_tables();
}

std::optional<ResultStore> ResultStore::read_only(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none)) return std::nullopt;
  const fs::path log = file.string() + "-wal";
  const bool written = fs::exists(log, none) && fs::file_size(log, none) > 0;
  ResultStore store(file, written ? Database::Mode::read : Database::Mode::frozen);
  if (empty(store.database_)) return std::nullopt;
  return store;
}

void ResultStore::create_tables() {
  Transaction transaction(database_);
  if (empty(database_)) {
    database_.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};\n{}",
                                  kStoreApplication, kStoreVersion, store_ddl()));
    Statement column(database_, "INSERT INTO column_info VALUES (?, ?, ?, ?, ?)");
    for (const StoreTable& table : store_tables()) {
      for (const StoreColumn& each : table.columns) {
        column.bind(table.name).bind(each.name).bind(each.unit).bind(each.definition);
        (each.when_empty.empty() ? column.bind_null() : column.bind(each.when_empty)).run();
      }
    }
  }
  Statement metric(database_, "INSERT OR REPLACE INTO metric_info VALUES (?, ?, ?)");
  for (const Metric& each : simsgd::metrics())
    metric.bind(each.name).bind(each.unit).bind(each.definition).run();
  transaction.commit();
}

void ResultStore::put(const SweepRow& sweep) {
  Transaction transaction(database_);
  Statement insert(database_, "INSERT OR IGNORE INTO sweeps VALUES (?, ?, ?, ?, ?, ?)");
  insert.bind(sweep.id).bind(sweep.name).bind(sweep.file).bind(OrderedJson(sweep.axes).dump());
  insert.bind(static_cast<std::int64_t>(sweep.points.size())).bind(with_machine({}).date).run();
  Statement point(database_, "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPointRow& each = sweep.points[i];
    point.bind(sweep.id).bind(static_cast<std::int64_t>(i)).bind(each.label);
    point.bind(each.coordinates.dump()).bind(each.key).run();
  }
  transaction.commit();
}

void ResultStore::put(const RunRow& run) {
  Transaction transaction(database_);
  const bool ok = run.status == RunStatus::ok;
  if (!ok && status(run.key) == RunStatus::ok) return;
  for (const char* table : {"metrics", "series"})
    Statement(database_, fmt::format("DELETE FROM {} WHERE run = (SELECT id FROM runs WHERE key = ?)", table))
        .bind(run.key)
        .run();
  Statement insert(
      database_,
      "INSERT INTO runs (key, status, error, model_version, scenario, context, document) "
      "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status, "
      "error = excluded.error, context = excluded.context, document = excluded.document RETURNING id");
  insert.bind(run.key).bind(status_name(run.status));
  ok ? insert.bind_null() : insert.bind(run.error);
  insert.bind(std::int64_t{run.model_version}).bind(run.scenario.dump()).bind(run.context.dump());
  ok ? insert.bind(without_own_columns(run.document)) : insert.bind_null();
  insert.step();
  const std::int64_t id = insert.integer();
  insert.run();
  if (ok) put_values(id, run.document);
  transaction.commit();
}

void ResultStore::put_values(std::int64_t id, const OrderedJson& document) {
  Statement metric(database_, "INSERT INTO metrics VALUES (?, ?, ?)");
  for (const auto& [name, value] : document.at("metrics").items())
    metric.bind(id).bind(name).bind(value.get<double>()).run();
  Statement point(database_, "INSERT INTO series VALUES (?, ?, ?, ?, ?)");
  for (const OrderedJson& curve : document.at("series")) {
    for (const OrderedJson& each : curve) {
      for (const auto& [name, value] : each.items()) {
        if (name == "step" || name == "time_s" || !value.is_number()) continue;
        point.bind(id).bind(name).bind(each.at("step").get<std::int64_t>());
        point.bind(each.at("time_s").get<double>()).bind(value.get<double>()).run();
      }
    }
  }
}

std::optional<RunStatus> ResultStore::status(const std::string& key) const {
  Statement statement(database_, "SELECT status FROM runs WHERE key = ?");
  if (!statement.bind(key).step()) return std::nullopt;
  return status_from_name(statement.text());
}

std::optional<RunRow> ResultStore::run(const std::string& key) const {
  Statement statement(
      database_, "SELECT model_version, status, error, scenario, context, document FROM runs WHERE key = ?");
  if (!statement.bind(key).step()) return std::nullopt;
  RunRow run;
  run.key = key;
  run.model_version = static_cast<int>(statement.integer());
  run.status = status_from_name(statement.text());
  run.error = statement.text();
  run.scenario = object_of(database_, statement.text());
  run.context = object_of(database_, statement.text());
  if (statement.next_is_null()) return run;
  run.document = object_of(database_, statement.text());
  for (const char* part : {"metrics", "series"})
    if (!run.document.contains(part)) damaged(database_, fmt::format("a document without \"{}\"", part));
  run.document["context"] = run.context;
  run.document["scenario"] = run.scenario;
  return run;
}

std::map<std::string, RunStatus> ResultStore::statuses() const {
  std::map<std::string, RunStatus> statuses;
  Statement statement(database_, "SELECT key, status FROM runs");
  while (statement.step()) {
    const std::string key = statement.text();
    statuses[key] = status_from_name(statement.text());
  }
  return statuses;
}

std::vector<SweepRow> ResultStore::sweeps() const {
  std::vector<SweepRow> sweeps;
  Statement statement(database_, "SELECT id, name, file, axes FROM sweeps ORDER BY date, rowid");
  while (statement.step()) {
    SweepRow sweep;
    sweep.id = statement.text();
    sweep.name = statement.text();
    sweep.file = statement.text();
    for (const OrderedJson& axis : json_of(database_, statement.text()))
      sweep.axes.push_back(axis.is_string() ? axis.get<std::string>() : axis.dump());
    Statement points(database_,
                     "SELECT label, coordinates, run FROM points WHERE sweep = ? ORDER BY position");
    points.bind(sweep.id);
    while (points.step()) {
      SweepPointRow point;
      point.label = points.text();
      point.coordinates = json_of(database_, points.text());
      point.key = points.text();
      sweep.points.push_back(std::move(point));
    }
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

std::map<std::string, double> ResultStore::metrics(const std::string& key) const {
  Statement statement(database_,
                      "SELECT m.name, m.value FROM metrics m JOIN runs r ON r.id = m.run WHERE r.key = ?");
  statement.bind(key);
  std::map<std::string, double> metrics;
  while (statement.step()) {
    const std::string name = statement.text();
    metrics[name] = statement.real();
  }
  return metrics;
}

std::vector<CurvePoint> ResultStore::curve(const std::string& key, const std::string& name) const {
  Statement statement(database_,
                      "SELECT s.step, s.time_s, s.value FROM series s JOIN runs r ON r.id = s.run "
                      "WHERE r.key = ? AND s.name = ? ORDER BY s.step, s.time_s");
  statement.bind(key).bind(name);
  std::vector<CurvePoint> curve;
  while (statement.step()) {
    const auto step = static_cast<double>(statement.integer());
    const double time_s = statement.real();
    curve.push_back({step, time_s, statement.real()});
  }
  return curve;
}

}  // namespace simsgd
