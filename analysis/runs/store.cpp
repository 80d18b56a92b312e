#include "analysis/runs/store.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "results/document.hpp"
#include "sim/base/check.hpp"
#include "sim/base/errors.hpp"
#include "sim/recording/metrics.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

// Texts that are compared with a new one before it becomes a base.
constexpr std::size_t kMostBases = 4;

// A base is worth its row where it makes a text so small.
bool is_small(std::size_t bytes, std::size_t text) { return bytes <= text / 8 + 64; }

// zlib takes what it reads as mutable, and does not change it.
Bytef* bytes_of(const std::string& text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text.data())); }

// As far as zlib's window reaches.
uInt size_of_dictionary(const std::string& like) {
  return static_cast<uInt>(std::min<std::size_t>(like.size(), std::size_t{1} << 15));
}

// Of a run's document over one like it, 24 kB, on one machine: 1.17 kB in 118 us; at zlib's own choice, 6,
// 0.98 kB in 239 us.
constexpr int kLevel = 3;

std::string unpacked(const std::string& bytes, const std::string& like) {
  z_stream stream = {};
  CHECK(inflateInit(&stream) == Z_OK, "zlib has memory");
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::string part(std::size_t{1} << 16, '\0');
  int code = Z_OK;
  do {
    stream.next_out = bytes_of(part);
    stream.avail_out = static_cast<uInt>(part.size());
    code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_NEED_DICT && !like.empty() &&
        inflateSetDictionary(&stream, bytes_of(like), size_of_dictionary(like)) == Z_OK)
      code = Z_OK;
    text.append(part, 0, part.size() - stream.avail_out);
  } while (code == Z_OK);
  inflateEnd(&stream);
  if (code != Z_STREAM_END) throw RunError("it holds bytes that zlib did not make");
  return text;
}

std::string unpacked_of(const Database& database, const std::string& bytes, const std::string& like) {
  try {
    return unpacked(bytes, like);
  } catch (const RunError&) {
    throw damaged(database, "bytes that zlib did not make");
  }
}

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
  const auto reject = [&](const std::string& problem,
                          const std::string& remedy = "Name a new file, or one that simsgd sweep made") {
    throw ConfigError({file.string(), "", problem, "", remedy});
  };
  try {
    Database database(file, mode);
    if (empty(database)) return database;
    if (pragma(database, "application_id") != kStoreApplication) reject("is not a result file of simsgd");
    if (const std::int64_t version = pragma(database, "user_version"); version != kStoreVersion)
      reject(fmt::format("has layout {}, and this simsgd reads and writes layout {}", version, kStoreVersion),
             version < kStoreVersion
                 ? "Run its studies again into a new file: simsgd sweep run STUDY -o NEW.db"
                 : "Use the simsgd that made it, or name a new file");
    return database;
  } catch (const RunError& error) {
    reject(fmt::format("cannot be used as a result file ({})", error.what()));
    throw;
  }
}

}  // namespace

ResultStore::ResultStore(const fs::path& file, Database::Mode mode)
    : database_(std::make_unique<Database>(open(file, mode))) {}

ResultStore::ResultStore(const fs::path& file) : ResultStore(file, Database::Mode::create) {
  try {
    database_->write_ahead();
    create_tables();
  } catch (const RunError& error) {
    throw ConfigError({file.string(), "", fmt::format("cannot be written ({})", error.what()), "",
                       "Name a file in a directory that you may write to, with room on its disk"});
  }
}

std::optional<ResultStore> ResultStore::read_only(const fs::path& file) {
  std::error_code none;
  if (!fs::exists(file, none)) return std::nullopt;
  const fs::path log = file.string() + "-wal";
  const bool written = fs::exists(log, none) && fs::file_size(log, none) > 0;
  ResultStore store(file, written ? Database::Mode::read : Database::Mode::frozen);
  if (empty(*store.database_)) return std::nullopt;
  return store;
}

Statement& ResultStore::prepared(const std::string& sql) const {
  std::unique_ptr<Statement>& statement = statements_[sql];
  if (!statement) statement = std::make_unique<Statement>(*database_, sql);
  return statement->reset();
}

void ResultStore::create_tables() {
  Transaction transaction(*database_);
  if (empty(*database_)) {
    database_->execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};\n{}",
                                   kStoreApplication, kStoreVersion, store_ddl()));
    Statement column(*database_, "INSERT INTO column_info VALUES (?, ?, ?, ?, ?)");
    for (const StoreTable& table : store_tables()) {
      for (const StoreColumn& each : table.columns) {
        column.bind(table.name).bind(each.name).bind(each.unit).bind(each.definition);
        (each.when_empty.empty() ? column.bind_null() : column.bind(each.when_empty)).run();
      }
    }
  }
  Statement metric(
      *database_,
      "INSERT INTO metric_info VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET unit = excluded.unit, definition = excluded.definition WHERE definition <> excluded.definition");
  for (const Metric& each : simsgd::metrics())
    metric.bind(each.name).bind(each.unit).bind(each.definition).run();
  transaction.commit();
}

void ResultStore::put(const ResultStudy& study) {
  Transaction transaction(*database_);
  Statement insert(*database_, "INSERT OR IGNORE INTO sweeps VALUES (?, ?, ?, ?, ?, ?) RETURNING id");
  insert.bind(study.id).bind(study.name).bind(study.file).bind(OrderedJson(study.axes).dump());
  insert.bind(static_cast<std::int64_t>(study.points.size())).bind(with_machine({}).date);
  // One that is there has the same points: its id is made of them.
  const bool is_new = insert.step();
  insert.reset();
  if (!is_new) return;
  Statement point(*database_, "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const ResultPoint& each = study.points[i];
    point.bind(study.id).bind(static_cast<std::int64_t>(i)).bind(each.label);
    point.bind(coordinates_json(each).dump()).bind(each.key).run();
  }
  transaction.commit();
}

void ResultStore::put(const std::vector<RunRow>& runs) {
  Transaction transaction(*database_);
  try {
    for (const RunRow& run : runs) {
      if (run.status == RunStatus::ok || status(run.key) != RunStatus::ok) put_run(run);
      prepared("UPDATE claims SET ended = 1 WHERE run = ?").bind(run.key).run();
    }
    transaction.commit();
  } catch (...) {
    bases_.clear();  // what was remembered of the file may be undone
    throw;
  }
}

void ResultStore::put_run(const RunRow& run) {
  const auto [base_id, document] = packed_document(run.document);
  Statement& insert = prepared(
      "INSERT INTO runs (key, status, error, model_version, notes, whole, base, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status, error = excluded.error, notes = excluded.notes, whole = excluded.whole, base = excluded.base, document = excluded.document RETURNING id");
  insert.bind(run.key).bind(status_name(run.status));
  run.status == RunStatus::ok ? insert.bind_null() : insert.bind(run.error);
  insert.bind(std::int64_t{run.model_version});
  run.notes.empty() ? insert.bind_null() : insert.bind(OrderedJson(run.notes).dump());
  insert.bind(std::int64_t{run.whole ? 1 : 0}).bind(base_id).bind_bytes(document).step();
  const std::int64_t id = insert.integer();
  insert.run();
  prepared("DELETE FROM metrics WHERE run = ?").bind(id).run();
  Statement& metric = prepared("INSERT INTO metrics VALUES (?, ?, ?)");
  for (const auto& [name, value] : run.metrics) metric.bind(id).bind(name).bind(value).run();
}

std::pair<std::int64_t, std::string> ResultStore::packed_document(const std::string& document) {
  if (bases_.empty()) {
    Statement recent(*database_, "SELECT id FROM bases ORDER BY id DESC LIMIT 4");
    while (recent.step()) (void)base(recent.integer());
  }
  for (auto known = bases_.rbegin(); known != bases_.rend(); ++known) {
    std::string bytes = packed(document, known->second);
    if (is_small(bytes.size(), document.size())) return {known->first, std::move(bytes)};
  }
  Statement& insert = prepared("INSERT INTO bases (text) VALUES (?) RETURNING id");
  insert.bind_bytes(packed(document)).step();
  const std::int64_t id = insert.integer();
  insert.run();
  if (bases_.size() >= kMostBases) bases_.erase(bases_.begin());
  bases_[id] = document;
  return {id, packed(document, document)};
}

const std::string& ResultStore::base(std::int64_t id) const {
  const auto known = bases_.find(id);
  if (known != bases_.end()) return known->second;
  Statement statement(*database_, "SELECT text FROM bases WHERE id = ?");
  const std::string bytes = statement.bind(id).step() ? statement.text() : "";
  if (bases_.size() >= kMostBases) bases_.erase(bases_.begin());
  return bases_[id] = unpacked_of(*database_, bytes, "");
}

std::string ResultStore::unpacked_document(std::int64_t base_id, const std::string& bytes) const {
  return unpacked_of(*database_, bytes, base(base_id));
}

std::vector<std::string> ResultStore::notes_in(const std::string& text) const {
  if (text.empty()) return {};
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_array()) throw damaged(*database_, "text that is not JSON");
  return json.get<std::vector<std::string>>();
}

std::optional<RunStatus> ResultStore::status(const std::string& key) const {
  Statement& statement = prepared("SELECT status FROM runs WHERE key = ?");
  std::optional<RunStatus> status;
  if (statement.bind(key).step()) status = status_from_name(statement.text());
  statement.reset();
  return status;
}

bool ResultStore::is_whole(const std::string& key) const {
  Statement& statement = prepared("SELECT 1 FROM runs WHERE key = ? AND whole AND status = 'ok'");
  const bool whole = statement.bind(key).step();
  statement.reset();
  return whole;
}

std::optional<RunRow> ResultStore::run(const std::string& key) const {
  Statement& statement =
      prepared("SELECT model_version, status, error, notes, whole, base, document FROM runs WHERE key = ?");
  if (!statement.bind(key).step()) return std::nullopt;
  RunRow run;
  run.key = key;
  run.model_version = static_cast<int>(statement.integer());
  run.status = status_from_name(statement.text());
  run.error = statement.text();
  run.notes = notes_in(statement.text());
  run.whole = statement.integer() != 0;
  const std::int64_t base_id = statement.integer();
  run.document = unpacked_document(base_id, statement.text());
  statement.reset();
  run.metrics = metrics(key);
  return run;
}

OrderedJson ResultStore::document(const std::string& key) const {
  Statement& statement = prepared("SELECT base, document FROM runs WHERE key = ?");
  if (!statement.bind(key).step()) return OrderedJson::object();
  const std::int64_t base_id = statement.integer();
  const std::string text = unpacked_document(base_id, statement.text());
  statement.reset();
  OrderedJson document = OrderedJson::parse(text, nullptr, false);
  if (!document.is_object()) throw damaged(*database_, "text that is not JSON");
  return document;
}

std::map<std::string, double> ResultStore::metrics(const std::string& key) const {
  Statement& statement =
      prepared("SELECT name, value FROM metrics WHERE run = (SELECT id FROM runs WHERE key = ?)");
  statement.bind(key);
  std::map<std::string, double> metrics;
  while (statement.step()) {
    const std::string name = statement.text();
    metrics[name] = statement.real();
  }
  return metrics;
}

std::unordered_map<std::string, StoredRun> ResultStore::statuses() const {
  std::unordered_map<std::string, StoredRun> runs;
  Statement statement(*database_, "SELECT key, status, whole, error FROM runs");
  while (statement.step()) {
    const std::string key = statement.text();
    const RunStatus status = status_from_name(statement.text());
    const bool whole = statement.integer() != 0;
    runs.emplace(key, StoredRun{status, whole, statement.text(), {}});
  }
  return runs;
}

std::unordered_map<std::string, StoredRun> ResultStore::runs() const {
  std::unordered_map<std::string, StoredRun> runs = statuses();
  Statement values(
      *database_,
      "SELECT r.id, r.key, m.name, m.value FROM metrics m JOIN runs r ON r.id = m.run ORDER BY m.run");
  std::int64_t last = -1;
  StoredRun* run = nullptr;
  while (values.step()) {
    const std::int64_t id = values.integer();
    const std::string key = values.text(), name = values.text();
    if (id != std::exchange(last, id)) run = &runs[key];
    run->metrics.emplace(name, values.real());
  }
  return runs;
}

std::map<std::string, std::vector<std::string>> ResultStore::notes() const {
  std::map<std::string, std::vector<std::string>> notes;
  Statement runs(*database_, "SELECT key, notes FROM runs WHERE notes IS NOT NULL");
  while (runs.step()) {
    const std::string key = runs.text();
    notes[key] = notes_in(runs.text());
  }
  return notes;
}

std::vector<ResultStudy> ResultStore::studies() const {
  std::vector<ResultStudy> studies;
  Statement statement(*database_, "SELECT id, name, file, axes FROM sweeps ORDER BY date, rowid");
  while (statement.step()) {
    ResultStudy& study = studies.emplace_back();
    study.id = statement.text();
    study.name = statement.text();
    study.file = statement.text();
    const OrderedJson axes = OrderedJson::parse(statement.text(), nullptr, false);
    if (!axes.is_array()) throw damaged(*database_, "text that is not JSON");
    for (const OrderedJson& axis : axes)
      study.axes.push_back(axis.is_string() ? axis.get<std::string>() : axis.dump());
    Statement points(*database_,
                     "SELECT label, coordinates, run FROM points WHERE sweep = ? ORDER BY position");
    points.bind(study.id);
    while (points.step()) {
      ResultPoint& point = study.points.emplace_back();
      point.position = study.points.size() - 1;
      point.label = points.text();
      const OrderedJson coordinates = OrderedJson::parse(points.text(), nullptr, false);
      if (!coordinates.is_array()) throw damaged(*database_, "text that is not JSON");
      try {
        read_coordinates(coordinates, point);
      } catch (const OrderedJson::exception&) {
        throw damaged(*database_, "invalid coordinates of a point");
      }
      point.key = points.text();
    }
  }
  return studies;
}

void ResultStore::End::operator()(z_stream* stream) const {
  deflateEnd(stream);
  delete stream;
}

std::string ResultStore::packed(const std::string& text, const std::string& like) {
  if (!deflating_) {
    deflating_.reset(new z_stream());
    CHECK(deflateInit(deflating_.get(), kLevel) == Z_OK, "zlib has memory");
  }
  z_stream& stream = *deflating_;
  deflateReset(&stream);
  if (!like.empty()) deflateSetDictionary(&stream, bytes_of(like), size_of_dictionary(like));
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes_of(bytes);
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int code = deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  CHECK(code == Z_STREAM_END, "zlib's bound holds");
  return bytes;
}

}  // namespace simsgd
