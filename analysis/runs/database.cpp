#include "analysis/runs/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "sim/base/interrupts.hpp"

namespace simsgd {

namespace {

// How long a writer waits for another one: transactions are short.
constexpr double kBusy_s = 60;

// A path as SQLite's URI has it.
std::string uri(const std::filesystem::path& file) {
  std::string escaped;
  for (const char letter : std::filesystem::absolute(file).string()) {
    const bool special = letter == '?' || letter == '#' || letter == '%';
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned>(letter)) : std::string(1, letter);
  }
  return "file:" + escaped + "?immutable=1";
}

}  // namespace

// One wait for another writer.
struct Database::Busy {
  std::string file;
  std::optional<Waiting> waiting{};
  bool takes_no_locks = false;  // the file system, which SQLite takes for another program's lock

  void look() { takes_no_locks = takes_no_locks || errno == ENOLCK; }

  // Called by SQLite with the number of calls before in this wait; 0 gives up.
  static int wait(void* self, int calls) {
    auto& busy = *static_cast<Busy*>(self);
    busy.look();
    if (busy.takes_no_locks) return 0;
    if (calls == 0)
      busy.waiting.emplace(fmt::format("Waiting for {}, which another program has locked", busy.file));
    if (busy.waiting->waited_s() >= kBusy_s) return 0;
    try {
      busy.waiting->pause();
    } catch (const Interrupted&) {
      return 0;
    }
    return 1;
  }
};

void Database::Forget::operator()(Busy* busy) const { delete busy; }
void Database::Close::operator()(sqlite3* handle) const { sqlite3_close(handle); }
void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Database::Database(const std::filesystem::path& file, Mode mode) : file_(file) {
  const int flags = mode == Mode::create
                        ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                        : SQLITE_OPEN_READONLY | (mode == Mode::frozen ? SQLITE_OPEN_URI : 0);
  std::error_code ignored;  // what cannot be made cannot be opened either, which is told then
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored))
    throw RunError(fmt::format("{} is not a regular file, so it cannot hold results. Choose another file",
                               file.string()));
  if (mode == Mode::create && file.has_parent_path())
    std::filesystem::create_directories(file.parent_path(), ignored);
  sqlite3* handle = nullptr;
  const std::string name = mode == Mode::frozen ? uri(file) : file.string();
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail();
  busy_.reset(new Busy{file.string()});
  sqlite3_busy_handler(handle, &Busy::wait, busy_.get());
}

void Database::execute(const std::string& sql) const {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Database::write_ahead() const {
  // SQLite asks no busy handler where two programs that wait for each other's locks would wait forever.
  // 16 MB: a page that is written again before the log is moved into the file is moved once.
  const char* sql =
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;";
  Waiting waiting(fmt::format("Waiting for {}, which another program has locked", file_.string()));
  for (int code = SQLITE_BUSY; code != SQLITE_OK;) {
    errno = 0;
    code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code == SQLITE_BUSY) busy_->look();
    const bool waited = busy_->takes_no_locks || waiting.waited_s() >= kBusy_s ||
                        (busy_->waiting && busy_->waiting->waited_s() >= kBusy_s);
    if (code != SQLITE_OK && (code != SQLITE_BUSY || waited || interrupted())) fail();
    if (code != SQLITE_OK) waiting.pause();
  }
}

void Database::fail() const {
  const int code = handle_ ? sqlite3_errcode(handle_.get()) & 0xff : SQLITE_NOMEM;
  if (code == SQLITE_BUSY && interrupted()) throw Interrupted();
  if (code == SQLITE_BUSY && busy_ && busy_->takes_no_locks) throw unlockable(file_, ENOLCK);
  if (code == SQLITE_BUSY)
    throw RunError(fmt::format(
        "{} was locked by another program for {:.0f} s. Wait until that one has ended, or find it with fuser, and give the same command again",
        file_.string(), kBusy_s));
  const bool full = code == SQLITE_FULL;
  // Such as "File too large", where the shell limits it (ulimit -f).
  const int system = code == SQLITE_IOERR ? sqlite3_system_errno(handle_.get()) : 0;
  throw RunError(
      fmt::format("{}: {}{}{}", file_.string(), handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory",
                  system != 0 ? fmt::format(" ({})", std::strerror(system)) : "",
                  full ? ". Make room, and give the same command again: what is in the file stays" : ""));
}

RunError unlockable(const std::filesystem::path& file, int error) {
  return RunError(
      fmt::format("{} cannot be locked ({}): its file system takes no locks. Choose another place for -o",
                  file.string(), std::strerror(error)));
}

RunError damaged(const Database& database, const std::string& what) {
  return RunError(
      fmt::format("{} is damaged: it holds {}. Name a new file with -o, or remove this one and run again.",
                  database.file().string(), what));
}

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement, nullptr));
  statement_.reset(statement);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_.fail();
}

Statement& Statement::bind(const std::string& value) {
  check(sqlite3_bind_text64(statement_.get(), ++parameter_, value.data(), value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++parameter_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_.get(), ++parameter_, value));
  return *this;
}

Statement& Statement::bind_null() {
  check(sqlite3_bind_null(statement_.get(), ++parameter_));
  return *this;
}

Statement& Statement::bind_bytes(const std::string& value) {
  check(sqlite3_bind_blob64(statement_.get(), ++parameter_, value.data(), value.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::reset() {
  sqlite3_reset(statement_.get());  // tells again what went wrong before
  parameter_ = 0;
  return *this;
}

bool Statement::step() {
  column_ = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail();
  parameter_ = 0;
  check(sqlite3_reset(statement_.get()));
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text() {
  const int column = column_++;
  const bool bytes = sqlite3_column_type(statement_.get(), column) == SQLITE_BLOB;
  const void* value = bytes ? sqlite3_column_blob(statement_.get(), column)
                            : static_cast<const void*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return value == nullptr ? "" : std::string(static_cast<const char*>(value), static_cast<std::size_t>(size));
}

std::int64_t Statement::integer() { return sqlite3_column_int64(statement_.get(), column_++); }
double Statement::real() { return sqlite3_column_double(statement_.get(), column_++); }

Transaction::Transaction(const Database& database) : database_(database) {
  database.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

const std::vector<StoreTable>& store_tables() {
  static const std::vector<StoreTable> tables = {
      {"sweeps",
       "Studies that were run",
       {{"id", "TEXT PRIMARY KEY", "", "Key of the name and of the keys of all points", ""},
        {"name", "TEXT NOT NULL", "", "Name of the study", ""},
        {"file", "TEXT NOT NULL", "", "The study's file as it was named", ""},
        {"axes", "TEXT NOT NULL", "", "JSON list of the pointers that vary", ""},
        {"points", "INTEGER NOT NULL", "1", "Number of points", ""},
        {"date", "TEXT NOT NULL", "", "When it was first begun, UTC, ISO 8601", ""}},
       ""},
      {"points",
       "The points of each sweep, in the study's order",
       {{"sweep", "TEXT NOT NULL", "", "id of the sweep", ""},
        {"position", "INTEGER NOT NULL", "1", "Place in the study, from 0", ""},
        {"label", "TEXT NOT NULL", "", "What distinguishes the point, for people", ""},
        {"coordinates", "TEXT NOT NULL", "", "JSON list of the pointers and values that are set there", ""},
        {"run", "TEXT NOT NULL", "", "key of its run, which has no row before it ends; sweeps may share it",
         ""}},
       "sweep, position"},
      {"runs",
       "Runs that ended, one row for each scenario, seed and model version",
       {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
        {"key", "TEXT NOT NULL UNIQUE", "", "UUID (version 5) of model version and resolved scenario", ""},
        {"status", "TEXT NOT NULL", "", "ok, failed or timeout", ""},
        {"error", "TEXT", "", "Why the run has no result, as a sentence", "status is ok"},
        {"model_version", "INTEGER NOT NULL", "1", "Version of what is computed", ""},
        {"notes", "TEXT", "", "JSON list of what its document notes", "there is nothing to note"},
        {"whole", "INTEGER NOT NULL", "1", "1 where its document has a row for every worker, else 0", ""},
        {"base", "INTEGER NOT NULL", "",
         "id of the text whose beginning is zlib's dictionary for its document", ""},
        {"document", "BLOB NOT NULL", "",
         "JSON of its document, scenario and context within; of a run without result those two; compressed with zlib",
         ""}},
       ""},
      {"metrics",
       "Numbers of a run",
       {{"run", "INTEGER NOT NULL", "", "id of the run", ""},
        {"name", "TEXT NOT NULL", "", "Name of the metric; no row where it has no value for the run", ""},
        {"value", "REAL NOT NULL", "see metric_info", "The value, SI", ""}},
       "run, name"},
      {"bases",
       "Texts that documents are much like",
       {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
        {"text", "BLOB NOT NULL", "", "JSON, compressed with zlib", ""}},
       ""},
      {"metric_info",
       "What the metrics mean",
       {{"name", "TEXT NOT NULL PRIMARY KEY", "", "Name of the metric", ""},
        {"unit", "TEXT NOT NULL", "", "Its unit, SI", ""},
        {"definition", "TEXT NOT NULL", "", "What it is, and when it has no value", ""}},
       ""},
      {"column_info",
       "What the columns of this file mean",
       {{"table_name", "TEXT NOT NULL", "", "Name of the table", ""},
        {"column_name", "TEXT NOT NULL", "", "Name of the column", ""},
        {"unit", "TEXT NOT NULL", "", "Its unit; empty where it has none", ""},
        {"definition", "TEXT NOT NULL", "", "What it is", ""},
        {"when_empty", "TEXT", "", "When it is NULL", "the column is never NULL"}},
       "table_name, column_name"},
      {"processes",
       "Sweeps that are writing this file, or were when they were killed",
       {{"id", "INTEGER PRIMARY KEY", "", "Number of the row in this file", ""},
        {"host", "TEXT NOT NULL", "", "Where it runs", ""},
        {"pid", "INTEGER NOT NULL", "", "Its number there", ""},
        {"started", "TEXT NOT NULL", "",
         "When the system started it, which tells it from a later process of the same number", ""},
        {"beat", "INTEGER NOT NULL", "s", "When it last said that it lives, since 1970", ""}},
       ""},
      {"claims",
       "Runs that a process has begun, so that no other one does",
       {{"run", "TEXT NOT NULL PRIMARY KEY", "", "key of the run", ""},
        {"process", "INTEGER NOT NULL", "", "id of the process", ""},
        {"ended", "INTEGER NOT NULL", "1", "1 once the run has ended, else 0", ""}},
       ""}};
  return tables;
}

std::string store_ddl() {
  std::string ddl;
  for (const StoreTable& table : store_tables()) {
    std::string columns;
    for (const StoreColumn& column : table.columns)
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", column.name, column.type);
    if (!table.key.empty()) columns += fmt::format(", PRIMARY KEY ({})", table.key);
    ddl += fmt::format("CREATE TABLE {} ({}){};\n", table.name, columns,
                       table.key.empty() ? "" : " WITHOUT ROWID");
  }
  return ddl;
}

}  // namespace simsgd
