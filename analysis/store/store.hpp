// The result store: one SQLite file with sweeps, runs, their metrics and curves, and what all of it means
// (see store_schema). A failed run is a row. Several processes may read and write at once (WAL); not over a
// network file system, for which there are spool files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/store/database.hpp"
#include "analysis/store/results.hpp"
#include "analysis/store/run_row.hpp"

namespace simsgd {

/// What there is of a run, without what fills the file.
struct StoredRun {
  RunStatus status = RunStatus::ok;
  bool whole = false;  ///< with its document
  std::string error;
  std::map<std::string, double> metrics;
};

class ResultStore {
 public:
  /// Opens for writing; makes the file if there is none. Throws ConfigError where the file is something else
  /// or cannot be made, RunError where writing fails later.
  explicit ResultStore(const std::filesystem::path& file);

  /// For a look, also while somebody writes; makes no file. Nothing where there is none. Throws ConfigError
  /// as above.
  static std::optional<ResultStore> read_only(const std::filesystem::path& file);

  void put(const SweepRow& sweep);
  /// Replaces the run of the same key, unless that would put a failure in the place of a result. Its document
  /// is kept where it is whole.
  void put(const RunRow& run);

  std::optional<RunStatus> status(const std::string& key) const;
  /// Whether its whole document is kept.
  bool is_whole(const std::string& key) const;
  std::optional<RunRow> run(const std::string& key) const;
  /// Of all runs, by key, without their metrics.
  std::unordered_map<std::string, StoredRun> statuses() const;
  /// Of all runs, by key.
  std::unordered_map<std::string, StoredRun> runs() const;
  /// In the order in which they were first begun.
  std::vector<SweepRow> sweeps() const;
  /// Of a run by its key; empty where it has none.
  std::map<std::string, double> metrics(const std::string& key) const;
  /// As StoredResults has them.
  nlohmann::ordered_json intervals(const std::string& key) const;
  std::vector<CurvePoint> curve(const std::string& key, const std::string& name) const;
  std::vector<ResultLink> links(const std::string& key) const;
  std::map<std::string, WorkerSpread> workers(const std::string& key) const;
  /// Resolved, JSON; empty where there is no such run.
  std::string scenario(const std::string& key) const;
  /// What the documents of runs say under "notes", by the keys of those that say anything.
  std::map<std::string, std::vector<std::string>> notes() const;

  const Database& database() const { return *database_; }

 private:
  ResultStore(const std::filesystem::path& file, Database::Mode mode);
  void create_tables();
  void put_run(const RunRow& run);
  void put_values(std::int64_t id, const nlohmann::ordered_json& document);
  void put_curves(std::int64_t id, const nlohmann::ordered_json& series);
  std::int64_t facts_id(const nlohmann::ordered_json& document);
  std::int64_t number_of(const std::string& table, const std::string& name);
  /// The scenario as the column has it, with the id of its base.
  std::pair<std::int64_t, std::string> packed_scenario(const std::string& scenario);
  std::string base(std::int64_t id) const;
  std::string scenario_text(std::int64_t base_id, const std::string& bytes) const;
  nlohmann::ordered_json document_of(const std::string& key, const std::string& facts,
                                     const std::string& own) const;
  nlohmann::ordered_json series_of(const std::string& key) const;
  /// Prepared once.
  Statement& prepared(const std::string& sql) const;

  std::unique_ptr<Database> database_;
  mutable std::unordered_map<std::string, std::unique_ptr<Statement>> statements_;
  // What is in the file already.
  mutable std::map<std::int64_t, std::string> bases_;
  std::unordered_map<std::string, std::int64_t> facts_, numbers_;
};

}  // namespace simsgd
