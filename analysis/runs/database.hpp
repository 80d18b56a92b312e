// SQLite, with C++'s manners: handles that close themselves, and RunError for what goes wrong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace simsgd {

class Database;

/// A prepared statement. Parameters and columns are counted in the order of their calls: bind() fills the
/// next parameter, the readers read the next column of the row.
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);

  Statement& bind(const std::string& value);
  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind_null();
  Statement& bind_bytes(const std::string& value);

  /// The next row; false after the last one, when the statement can be bound again.
  bool step();
  /// Runs to the end.
  void run();
  /// Leaves the rows that are left, and can be bound again.
  Statement& reset();

  std::string text();  ///< or bytes
  std::int64_t integer();
  double real();

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int parameter_ = 0, column_ = 0;
};

class Database {
 public:
  /// `create`: for writing, made where it does not exist. `read`: beside a writer. `frozen`: a file that
  /// nobody writes, without making any file beside it.
  enum class Mode { create, read, frozen };
  Database(const std::filesystem::path& file, Mode mode);

  /// Whatever meets a lock of another program waits for a minute, and says so. Throws RunError, Interrupted.
  void execute(const std::string& sql) const;
  /// From now on readers and a writer do not keep each other waiting. Throws as execute.
  void write_ahead() const;
  [[noreturn]] void fail() const;
  sqlite3* handle() const { return handle_.get(); }
  const std::filesystem::path& file() const { return file_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Busy;
  struct Forget {
    void operator()(Busy* busy) const;
  };
  std::filesystem::path file_;
  std::unique_ptr<Busy, Forget> busy_;  // SQLite holds its address
  std::unique_ptr<sqlite3, Close> handle_;
};

/// That a file system takes no locks, by `error` of errno.
RunError unlockable(const std::filesystem::path& file, int error);
/// What is told of a file with contents that no program of ours wrote. `what` it holds.
RunError damaged(const Database& database, const std::string& what);

/// Undone unless committed.
class Transaction {
 public:
  explicit Transaction(const Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
  bool open_ = true;
};

// The tables of a result file: the one place that names, defines and creates them.

struct StoreColumn {
  std::string name;
  std::string type;        ///< of SQLite, with its constraints
  std::string unit;        ///< empty where it has none
  std::string definition;  ///< a sentence without full stop
  std::string when_empty;  ///< when the value is NULL; empty: never
};

struct StoreTable {
  std::string name;
  std::string definition;
  std::vector<StoreColumn> columns;
  std::string key;  ///< columns of the primary key, where it is more than one
};

const std::vector<StoreTable>& store_tables();

/// Raised when the tables change; files of other versions are refused.
inline constexpr int kStoreVersion = 4;
/// SQLite's application_id of our files: "SGDr".
inline constexpr int kStoreApplication = 0x53474472;

/// CREATE TABLE statements of all tables.
std::string store_ddl();

}  // namespace simsgd
