// The result store: one SQLite file with sweeps, runs, their metrics and curves, and what all of it means
// (see store_schema). A failed run is a row. Several processes may read while one writes (WAL); not over a
// network file system, for which there are spool files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/store/database.hpp"
#include "analysis/store/results.hpp"
#include "analysis/store/run_row.hpp"

namespace simsgd {

class ResultStore {
 public:
  /// Opens for writing; makes the file if there is none. Throws ConfigError where the file is something else
  /// or cannot be made, RunError where writing fails later.
  explicit ResultStore(const std::filesystem::path& file);

  /// For a look, also while somebody writes; makes no file. Nothing where there is none. Throws ConfigError
  /// as above.
  static std::optional<ResultStore> read_only(const std::filesystem::path& file);

  void put(const SweepRow& sweep);
  /// Replaces the run of the same key, unless that would put a failure in the place of a result.
  void put(const RunRow& run);

  std::optional<RunStatus> status(const std::string& key) const;
  std::optional<RunRow> run(const std::string& key) const;
  /// Of all runs, by key.
  std::map<std::string, RunStatus> statuses() const;
  /// In the order in which they were first begun.
  std::vector<SweepRow> sweeps() const;
  /// Of a run by its key; empty where it has none.
  std::map<std::string, double> metrics(const std::string& key) const;
  std::vector<CurvePoint> curve(const std::string& key, const std::string& name) const;

 private:
  ResultStore(const std::filesystem::path& file, Database::Mode mode);
  void create_tables();
  void put_values(std::int64_t id, const nlohmann::ordered_json& document);

  Database database_;
};

}  // namespace simsgd
