// An SQLite database that others wrote, only read: of its schema nothing is trusted. Views, triggers and
// virtual tables are left alone, and a database that is damaged ends in what could be read until there.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "traces/reading/input.hpp"
#include "traces/reading/text.hpp"

namespace simsgd {

class SqliteFile {
 public:
  /// Throws ConfigError where it cannot be opened: it is in a pipe, compressed, or not whole from its first
  /// page on.
  explicit SqliteFile(Input& input) {
    const auto refuse = [&](const std::string& problem, const std::string& remedy) {
      return ConfigError({input.name(), "", problem, "", remedy});
    };
    if (!input.in_memory() && input.plain_path().empty())
      throw refuse("is an SQLite database in a pipe, or compressed, which cannot be read in place",
                   "Name the file itself, after gunzip");
    if (open(input) != SQLITE_OK)
      throw refuse("is not an SQLite database that can be opened", "Copy or export it again");
    sqlite3_limit(handle_.get(), SQLITE_LIMIT_LENGTH, kLongestValue_bytes);
    sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_exec(handle_.get(), "PRAGMA cell_size_check=1; PRAGMA cache_size=-16384; PRAGMA temp_store=1",
                 nullptr, nullptr, nullptr);
    Rows found = query("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0");
    while (found.next()) tables_.emplace(found.text(0));
    if (!found.damage().empty())
      throw refuse("is a damaged SQLite database (" + found.damage() + ")", "Copy or export it again");
  }

  /// Rows of a table, some of its columns each; columns that it does not have are null.
  class Rows {
   public:
    explicit Rows(sqlite3_stmt* statement) : statement_(statement) {}

    bool next() {
      const int code = statement_ ? sqlite3_step(statement_.get()) : SQLITE_CORRUPT;
      if (code != SQLITE_ROW && code != SQLITE_DONE) damage_ = sqlite3_errstr(code);
      return code == SQLITE_ROW;
    }
    bool is_null(int column) const { return type(column) == SQLITE_NULL; }
    bool is_text(int column) const { return type(column) == SQLITE_TEXT; }
    std::int64_t whole(int column) const { return sqlite3_column_int64(statement_.get(), column); }
    /// Good until the next row.
    std::string_view text(int column) const {
      const unsigned char* const begin = sqlite3_column_text(statement_.get(), column);
      if (begin == nullptr) return {};
      return {reinterpret_cast<const char*>(begin),
              static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
    }
    /// After the last row: why there are no more, where the database is damaged; else "".
    const std::string& damage() const { return damage_; }

   private:
    struct Finalize {
      void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    int type(int column) const { return sqlite3_column_type(statement_.get(), column); }

    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    std::string damage_;
  };

  std::int64_t application_id() {
    Rows found = query("PRAGMA application_id");
    return found.next() ? found.whole(0) : 0;
  }
  /// The names of real tables, without views.
  const std::set<std::string>& tables() const { return tables_; }
  std::set<std::string> columns(const std::string& table) {
    std::set<std::string> names;
    Rows found = query("PRAGMA table_info(" + quoted(table) + ")");
    while (found.next()) names.emplace(found.text(1));
    return names;
  }
  /// `order`: a column, or "".
  Rows rows(const std::string& table, const std::vector<std::string>& wanted, const std::string& order = "") {
    const std::set<std::string> there = columns(table);
    std::string text = "SELECT ";
    for (const std::string& column : wanted)
      text += (&column == wanted.data() ? "" : ", ") + (there.contains(column) ? quoted(column) : "NULL");
    text += " FROM " + quoted(table);
    if (!order.empty() && there.contains(order)) text += " ORDER BY " + quoted(order);
    return query(text);
  }

 private:
  static constexpr int kLongestValue_bytes = 1 << 24;
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };

  int open(Input& input) {
    sqlite3* handle = nullptr;
    const int code = input.in_memory() ? sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nullptr)
                                       : sqlite3_open_v2(uri_of(input.plain_path()).c_str(), &handle,
                                                         SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
    handle_.reset(handle);
    if (code != SQLITE_OK || !input.in_memory()) return code;
    content_ = input.rest();
    const auto size = static_cast<sqlite3_int64>(content_.size());
    return sqlite3_deserialize(handle, "main", reinterpret_cast<unsigned char*>(content_.data()), size, size,
                               SQLITE_DESERIALIZE_READONLY);
  }
  Rows query(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle_.get(), text.c_str(), -1, &statement, nullptr);
    return Rows(statement);
  }
  static std::string quoted(const std::string& name) {
    std::string text = "\"";
    for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
    return text + '"';
  }
  // immutable: nobody writes it meanwhile, and neither do we, no -shm or -wal beside it.
  static std::string uri_of(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
                         std::string_view("/._-").find(c) != std::string_view::npos;
      uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return uri + "?mode=ro&immutable=1";
  }

  std::string content_;  // of a text in memory
  std::unique_ptr<sqlite3, Close> handle_;
  std::set<std::string> tables_;
};

}  // namespace simsgd
