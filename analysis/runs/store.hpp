// The result store: one SQLite file with sweeps, runs, their documents and metrics, and what all of it means
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

#include "analysis/runs/database.hpp"
#include "analysis/runs/run_row.hpp"

struct z_stream_s;

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

  void put(const ResultStudy& study);
  /// Replaces the run of the same key, unless that would put a failure in the place of a result.
  void put(const RunRow& run) { put(std::vector<RunRow>{run}); }
  /// At once: all of them, or none.
  void put(const std::vector<RunRow>& runs);

  std::optional<RunStatus> status(const std::string& key) const;
  /// Whether its whole document is kept.
  bool is_whole(const std::string& key) const;
  std::optional<RunRow> run(const std::string& key) const;
  /// Of all runs, by key, without their metrics.
  std::unordered_map<std::string, StoredRun> statuses() const;
  /// Of all runs, by key.
  std::unordered_map<std::string, StoredRun> runs() const;
  /// In the order in which they were first begun; of their points nothing that runs gave.
  std::vector<ResultStudy> studies() const;
  /// Of a run by its key; empty where it has none.
  std::map<std::string, double> metrics(const std::string& key) const;
  /// RunRow::document, parsed; an empty object where there is no such run.
  nlohmann::ordered_json document(const std::string& key) const;
  /// What the documents of runs say under "notes", by the keys of those that say anything.
  std::map<std::string, std::vector<std::string>> notes() const;

  const Database& database() const { return *database_; }

 private:
  ResultStore(const std::filesystem::path& file, Database::Mode mode);
  void create_tables();
  void put_run(const RunRow& run);
  /// A document as the column has it, with the id of its base.
  std::pair<std::int64_t, std::string> packed_document(const std::string& document);
  std::string unpacked_document(std::int64_t base, const std::string& bytes) const;
  const std::string& base(std::int64_t id) const;
  std::vector<std::string> notes_in(const std::string& text) const;
  /// Prepared once.
  Statement& prepared(const std::string& sql) const;
  /// Compressed with zlib, quickly. `like`: a text that the reader has too, of which it may repeat
  /// parts (of its first 32 kB); empty: none.
  std::string packed(const std::string& text, const std::string& like = "");

  std::unique_ptr<Database> database_;
  mutable std::unordered_map<std::string, std::unique_ptr<Statement>> statements_;
  mutable std::map<std::int64_t, std::string> bases_;  // in the file already
  struct End {
    void operator()(z_stream_s* stream) const;
  };
  std::unique_ptr<z_stream_s, End> deflating_;  // its memory is for the next text
};

}  // namespace simsgd
