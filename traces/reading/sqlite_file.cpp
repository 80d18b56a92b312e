#include "traces/reading/sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

namespace {

constexpr int kLongestValue_bytes = 1 << 24;

std::string quoted_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

// immutable: nobody writes it meanwhile, and neither do we, no -shm or -wal beside it.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
                       std::string_view("/._-").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?mode=ro&immutable=1";
}

}  // namespace

struct SqliteFile::Connection {
  sqlite3* handle = nullptr;
  std::string content;  // of a text in memory
  ~Connection() { sqlite3_close_v2(handle); }

  sqlite3_stmt* prepare(const std::string& query) const {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle, query.c_str(), -1, &statement, nullptr);
    return statement;
  }
};

SqliteFile::SqliteFile(Input& input) : connection_(std::make_unique<Connection>()) {
  const auto refuse = [&](const std::string& problem, const std::string& remedy) {
    return ConfigError({input.name(), "", problem, "", remedy});
  };
  int code = SQLITE_OK;
  if (input.in_memory()) {
    connection_->content = input.rest();
    code = sqlite3_open_v2(":memory:", &connection_->handle, SQLITE_OPEN_READWRITE, nullptr);
    const auto size = static_cast<sqlite3_int64>(connection_->content.size());
    if (code == SQLITE_OK)
      code = sqlite3_deserialize(connection_->handle, "main",
                                 reinterpret_cast<unsigned char*>(connection_->content.data()), size, size,
                                 SQLITE_DESERIALIZE_READONLY);
  } else {
    if (input.plain_path().empty())
      throw refuse("is an SQLite database in a pipe, or compressed, which cannot be read in place",
                   "Name the file itself, after gunzip");
    code = sqlite3_open_v2(uri_of(input.plain_path()).c_str(), &connection_->handle,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  }
  if (code != SQLITE_OK)
    throw refuse("is not an SQLite database that can be opened", "Copy or export it again");
  sqlite3* const handle = connection_->handle;
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLongestValue_bytes);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_exec(handle, "PRAGMA cell_size_check=1; PRAGMA cache_size=-16384; PRAGMA temp_store=1", nullptr,
               nullptr, nullptr);
  Rows found(connection_->prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"));
  while (found.next()) tables_.insert(std::string(found.text(0)));
  if (!found.damage().empty())
    throw refuse("is a damaged SQLite database (" + found.damage() + ")", "Copy or export it again");
}

SqliteFile::~SqliteFile() = default;

std::int64_t SqliteFile::application_id() {
  Rows found(connection_->prepare("PRAGMA application_id"));
  return found.next() ? found.whole(0) : 0;
}

std::set<std::string> SqliteFile::columns(const std::string& table) {
  std::set<std::string> names;
  Rows found(connection_->prepare("PRAGMA table_info(" + quoted_name(table) + ")"));
  while (found.next()) names.insert(std::string(found.text(1)));
  return names;
}

SqliteFile::Rows SqliteFile::rows(const std::string& table, const std::vector<std::string>& wanted,
                                  const std::string& order) {
  const std::set<std::string> there = columns(table);
  std::string query = "SELECT ";
  for (const std::string& column : wanted)
    query += (&column == wanted.data() ? "" : ", ") + (there.contains(column) ? quoted_name(column) : "NULL");
  query += " FROM " + quoted_name(table);
  if (!order.empty() && there.contains(order)) query += " ORDER BY " + quoted_name(order);
  return Rows(connection_->prepare(query));
}

SqliteFile::Rows::Rows(Rows&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), damage_(std::move(other.damage_)) {}

SqliteFile::Rows::~Rows() { sqlite3_finalize(static_cast<sqlite3_stmt*>(statement_)); }

bool SqliteFile::Rows::next() {
  auto* const statement = static_cast<sqlite3_stmt*>(statement_);
  const int code = statement == nullptr ? SQLITE_CORRUPT : sqlite3_step(statement);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) damage_ = sqlite3_errstr(code);
  return false;
}

bool SqliteFile::Rows::is_null(int column) const {
  return sqlite3_column_type(static_cast<sqlite3_stmt*>(statement_), column) == SQLITE_NULL;
}

bool SqliteFile::Rows::is_text(int column) const {
  return sqlite3_column_type(static_cast<sqlite3_stmt*>(statement_), column) == SQLITE_TEXT;
}

std::int64_t SqliteFile::Rows::whole(int column) const {
  return sqlite3_column_int64(static_cast<sqlite3_stmt*>(statement_), column);
}

std::string_view SqliteFile::Rows::text(int column) const {
  auto* const statement = static_cast<sqlite3_stmt*>(statement_);
  const unsigned char* const begin = sqlite3_column_text(statement, column);
  if (begin == nullptr) return {};
  return {reinterpret_cast<const char*>(begin),
          static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

}  // namespace simsgd
