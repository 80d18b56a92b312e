// Runs in the store: how documents become rows, and rows documents.
#include <fmt/format.h>

#include <set>

#include "analysis/data_sheet.hpp"
#include "analysis/store/packing.hpp"
#include "analysis/store/store.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace {

using OrderedJson = nlohmann::ordered_json;

// Members of a document that have tables, and those that differ from run to run; the others are its facts.
const std::set<std::string> kTabled = {"context", "scenario", "metrics",       "links",
                                       "series",  "workers",  "worker_spreads"};
const std::set<std::string> kOwn = {"intervals", "uncertainty", "slowest_worker"};

// Scenarios that are compared with a new one before it becomes a base.
constexpr std::size_t kMostBases = 4;

// A base is worth its row where it makes a scenario so small.
bool is_small(std::size_t bytes, std::size_t text) { return bytes <= text / 4 + 64; }

std::string unpacked_of(const Database& database, const std::string& bytes, const std::string& like) {
  try {
    return unpacked(bytes, like);
  } catch (const RunError&) {
    throw damaged(database, "bytes that zlib did not make");
  }
}

/// What data sheets are off by is the same for many runs.
bool is_own(const std::string& name, const OrderedJson& document) {
  return kOwn.contains(name) && !(name == "uncertainty" && follows_from_data_sheets(document));
}

OrderedJson own_of(const OrderedJson& document) {
  OrderedJson own;
  for (const std::string& name : kOwn)
    if (document.contains(name) && is_own(name, document)) own[name] = document[name];
  return own;
}

}  // namespace

void ResultStore::put(const RunRow& run) {
  Transaction transaction(*database_);
  try {
    if (run.status == RunStatus::ok || status(run.key) != RunStatus::ok) put_run(run);
    prepared("UPDATE claims SET ended = 1 WHERE run = ?").bind(run.key).run();
    transaction.commit();
  } catch (...) {
    // What was remembered of the file may be undone.
    bases_.clear();
    facts_.clear();
    numbers_.clear();
    throw;
  }
}

void ResultStore::put_run(const RunRow& run) {
  const bool ok = run.status == RunStatus::ok;
  const auto [base_id, scenario] = packed_scenario(run.scenario);
  Statement& insert = prepared(
      "INSERT INTO runs (key, status, error, model_version, base, scenario, context, facts, own, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status, error = excluded.error, base = excluded.base, scenario = excluded.scenario, context = excluded.context, facts = excluded.facts, own = excluded.own, document = excluded.document RETURNING id");
  insert.bind(run.key).bind(status_name(run.status));
  ok ? insert.bind_null() : insert.bind(run.error);
  insert.bind(std::int64_t{run.model_version}).bind(base_id).bind_bytes(scenario).bind(run.context.dump());
  const bool whole = ok && simsgd::is_whole(run.document);
  const OrderedJson brief = whole ? brief_document(run.document) : run.document;
  const OrderedJson own = ok ? own_of(brief) : OrderedJson();
  ok ? insert.bind(facts_id(brief)) : insert.bind_null();
  own.empty() ? insert.bind_null() : insert.bind(own.dump());
  whole ? insert.bind_bytes(packed(run.document.dump())) : insert.bind_null();
  insert.step();
  const std::int64_t id = insert.integer();
  insert.run();
  for (const char* table : {"metric_values", "curve_values", "worker_values", "link_values"})
    prepared(fmt::format("DELETE FROM {} WHERE run = ?", table)).bind(id).run();
  if (ok) put_values(id, brief);
}

void ResultStore::put_values(std::int64_t id, const OrderedJson& document) {
  for (const auto& [name, value] : document.at("metrics").items())
    if (value.is_number())
      prepared("INSERT INTO metric_values VALUES (?, ?, ?)")
          .bind(id)
          .bind(number_of("metric_info", name))
          .bind(value.get<double>())
          .run();
  put_curves(id, document.at("series"));
  const OrderedJson none = OrderedJson::object();
  for (const auto& [name, spread] :
       (document.contains("worker_spreads") ? document["worker_spreads"] : none).items()) {
    Statement& row = prepared("INSERT INTO worker_values VALUES (?, ?, ?, ?, ?, ?, ?)");
    row.bind(id).bind(number_of("names", name));
    for (const OrderedJson& quantile : spread) row.bind(quantile.get<double>());
    row.run();
  }
  std::int64_t place = 0;
  for (const OrderedJson& link : document.contains("links") ? document["links"] : none)
    prepared("INSERT INTO link_values VALUES (?, ?, ?, ?, ?, ?)")
        .bind(id)
        .bind(place++)
        .bind(number_of("names", link.at("name")))
        .bind(link.at("bandwidth_Bps").get<double>())
        .bind(link.at("bytes").get<double>())
        .bind(link.at("utilisation").get<double>())
        .run();
}

void ResultStore::put_curves(std::int64_t id, const OrderedJson& series) {
  for (const OrderedJson& curve : series) {
    for (const OrderedJson& each : curve) {
      for (const auto& [name, value] : each.items()) {
        if (name == "step" || name == "time_s" || !value.is_number()) continue;
        prepared("INSERT INTO curve_values VALUES (?, ?, ?, ?, ?)")
            .bind(id)
            .bind(number_of("names", name))
            .bind(each.at("step").get<std::int64_t>())
            .bind(each.at("time_s").get<double>())
            .bind(value.get<double>())
            .run();
      }
    }
  }
}

std::int64_t ResultStore::number_of(const std::string& table, const std::string& name) {
  std::int64_t& number = numbers_[table + "/" + name];
  if (number != 0) return number;
  prepared(table == "names" ? "INSERT OR IGNORE INTO names (name) VALUES (?)"
                            : "INSERT OR IGNORE INTO metric_info (name, unit, definition) VALUES (?, '', '')")
      .bind(name)
      .run();
  Statement& found = prepared(fmt::format("SELECT id FROM {} WHERE name = ?", table));
  found.bind(name).step();
  number = found.integer();
  found.reset();
  return number;
}

std::int64_t ResultStore::facts_id(const OrderedJson& document) {
  OrderedJson facts;
  for (const auto& [name, part] : document.items())
    facts[name] = kTabled.contains(name) || is_own(name, document) ? OrderedJson() : part;
  const std::string text = facts.dump();
  std::int64_t& id = facts_[text];
  if (id != 0) return id;
  prepared("INSERT OR IGNORE INTO facts (text) VALUES (?)").bind(text).run();
  Statement& found = prepared("SELECT id FROM facts WHERE text = ?");
  found.bind(text).step();
  const std::int64_t number = found.integer();
  found.reset();
  if (facts_.size() > 1000) facts_.clear();
  facts_[text] = number;
  return number;
}

std::pair<std::int64_t, std::string> ResultStore::packed_scenario(const std::string& scenario) {
  if (bases_.empty()) {
    Statement& recent = prepared("SELECT id FROM scenarios ORDER BY id DESC LIMIT 4");
    std::vector<std::int64_t> ids;
    while (recent.step()) ids.push_back(recent.integer());
    for (const std::int64_t id : ids) (void)base(id);
  }
  for (auto known = bases_.rbegin(); known != bases_.rend(); ++known) {
    std::string bytes = packed(scenario, known->second);
    if (is_small(bytes.size(), scenario.size())) return {known->first, std::move(bytes)};
  }
  Statement& insert = prepared("INSERT INTO scenarios (text) VALUES (?) RETURNING id");
  insert.bind_bytes(packed(scenario)).step();
  const std::int64_t id = insert.integer();
  insert.run();
  if (bases_.size() >= kMostBases) bases_.erase(bases_.begin());
  bases_[id] = scenario;
  return {id, packed(scenario, scenario)};
}

std::string ResultStore::base(std::int64_t id) const {
  const auto known = bases_.find(id);
  if (known != bases_.end()) return known->second;
  Statement& statement = prepared("SELECT text FROM scenarios WHERE id = ?");
  const bool found = statement.bind(id).step();
  const std::string bytes = found ? statement.text() : "";
  statement.reset();
  if (bases_.size() >= kMostBases) bases_.erase(bases_.begin());
  return bases_[id] = unpacked_of(*database_, bytes, "");
}

std::string ResultStore::scenario_text(std::int64_t base_id, const std::string& bytes) const {
  return unpacked_of(*database_, bytes, base(base_id));
}

}  // namespace simsgd
