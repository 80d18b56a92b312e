#include "analysis/store/merge.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/store/spool.hpp"
#include "analysis/store/store.hpp"
#include "analysis/store/store_schema.hpp"
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
  const bool fuller = known == RunStatus::ok && is_whole(run.document) && !into.is_whole(run.key);
  // Of two failures either may have come first: a rule that does not depend on it.
  const bool before =
      known && *known != RunStatus::ok && run.status != RunStatus::ok && run.error < into.run(run.key)->error;
  if (!known || better || fuller || before) into.put(run);
}

void merge_store(const ResultStore& from, ResultStore& into) {
  for (const SweepRow& sweep : from.sweeps()) into.put(sweep);
  for (const auto& [key, unused] : from.statuses()) put(into, from.run(key).value());
}

// Layout 2: JSON as text, with a document for each run.
void convert(const fs::path& file, ResultStore& into) {
  const Database database(file, Database::Mode::read);
  Statement sweeps(database, "SELECT id, name, file, axes FROM sweeps ORDER BY date, rowid");
  while (sweeps.step()) {
    SweepRow sweep;
    sweep.id = sweeps.text();
    sweep.name = sweeps.text();
    sweep.file = sweeps.text();
    for (const OrderedJson& axis : OrderedJson::parse(sweeps.text())) sweep.axes.push_back(axis);
    Statement points(database,
                     "SELECT label, coordinates, run FROM points WHERE sweep = ? ORDER BY position");
    points.bind(sweep.id);
    while (points.step()) {
      SweepPointRow& point = sweep.points.emplace_back();
      point.label = points.text();
      point.coordinates = OrderedJson::parse(points.text());
      point.key = points.text();
    }
    into.put(sweep);
  }
  Statement runs(database, "SELECT key, model_version, status, error, scenario, context, document FROM runs");
  while (runs.step()) {
    RunRow run;
    run.key = runs.text();
    run.model_version = static_cast<int>(runs.integer());
    run.status = status_from_name(runs.text());
    run.error = runs.text();
    run.scenario = runs.text();
    run.context = OrderedJson::parse(runs.text());
    // Few asked for documents: what the new layout keeps of them by itself is enough.
    if (run.status == RunStatus::ok) run.document = brief_document(OrderedJson::parse(runs.text()));
    put(into, run);
  }
}

void check(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none)) reject(file, "does not exist");
  if (is_spool(file)) {
    read_spool(file, {[](const RunRow&, std::uint64_t) {}, [](const SweepRow&) {}});
    return;
  }
  if (layout_of(file) != kConvertedVersion && !ResultStore::read_only(file)) reject(file, "holds no study");
}

SpoolLines lines_into(ResultStore& store) {
  return {[&store](const RunRow& run, std::uint64_t) { put(store, run); },
          [&store](const SweepRow& sweep) { store.put(sweep); }};
}

void merge_one(const fs::path& file, ResultStore& into) {
  if (is_spool(file)) {
    read_spool(file, lines_into(into));
    return;
  }
  try {
    if (layout_of(file) == kConvertedVersion)
      convert(file, into);
    else
      merge_store(*ResultStore::read_only(file), into);
  } catch (const OrderedJson::exception&) {
    throw damaged(Database(file, Database::Mode::read), "JSON that is no result");
  }
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(spool_directory(file), none))
    if (is_spool(entry.path())) read_spool(entry.path(), lines_into(into));
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
