// An SQLite database that others wrote, only read: of its schema nothing is trusted. Views, triggers and
// virtual tables are left alone, and a database that is damaged ends in what could be read until there.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/reading/input.hpp"

namespace simsgd {

class SqliteFile {
 public:
  /// Throws ConfigError where it cannot be opened: it is in a pipe, compressed, or not whole from its first
  /// page on.
  explicit SqliteFile(Input& input);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  std::int64_t application_id();
  /// The names of real tables, without views.
  const std::set<std::string>& tables() const { return tables_; }
  std::set<std::string> columns(const std::string& table);

  /// Rows of a table, some of its columns each; columns that it does not have are null.
  class Rows {
   public:
    ~Rows();
    Rows(Rows&& other) noexcept;
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    Rows& operator=(Rows&&) = delete;

    bool next();
    bool is_null(int column) const;
    bool is_text(int column) const;
    std::int64_t whole(int column) const;
    std::string_view text(int column) const;  ///< good until the next row
    /// After the last row: why there are no more, where the database is damaged; else "".
    const std::string& damage() const { return damage_; }

   private:
    friend class SqliteFile;
    explicit Rows(void* statement) : statement_(statement) {}
    void* statement_;
    std::string damage_;
  };
  /// `order`: a column, or "".
  Rows rows(const std::string& table, const std::vector<std::string>& wanted, const std::string& order = "");

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
  std::set<std::string> tables_;
};

}  // namespace simsgd
