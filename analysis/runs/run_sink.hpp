// Where a sweep puts its runs, and finds those that are done: a result store, a shard's spool file, or
// memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/runs/database.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/sweep_points.hpp"

namespace simsgd {

// Who runs what, where several processes sweep into one store at once: each claims a run before it begins it.
// What a process that is gone had claimed is free again.

enum class Turn {
  mine,   ///< run it
  ended,  ///< another process ran it meanwhile: its row is in the store
  busy    ///< another process is running it
};

class Turns {
 public:
  /// Registers this process, and forgets those that are gone.
  explicit Turns(const Database& database);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// `force`: also a run that has a result, once. `whole`: a result counts only with its document.
  Turn ask(const std::string& key, bool force, bool whole) { return ask(std::vector{key}, force, whole)[0]; }
  /// The same for several, in one transaction: a transaction costs more than a row.
  std::vector<Turn> ask(const std::vector<std::string>& keys, bool force, bool whole);
  /// To be called now and then: says that this process lives.
  void beat();

 private:
  bool lives(std::int64_t process) const;
  void forget(std::int64_t process) const;
  Turn turn_of(const std::string& key, bool force, bool whole);

  const Database& database_;
  std::int64_t me_ = 0;
  Statement claimed_, done_, take_;
  std::chrono::steady_clock::time_point last_beat_;
};

class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual std::optional<RunStatus> status(const std::string& key) const = 0;
  /// Whether there is a result with its whole document.
  virtual bool is_whole(const std::string& key) const = 0;
  virtual std::optional<RunRow> run(const std::string& key) const = 0;
  virtual void put(const ResultStudy& sweep) = 0;
  virtual void put(RunRow&& run) = 0;
  /// The run will not be asked for again; what is kept for later sweeps stays.
  virtual void forget(const std::string& /*key*/) {}
  /// To be asked before runs begin: others may write here too. `force`, `whole`: as Turns.
  virtual std::vector<Turn> ask(const std::vector<std::string>& keys, bool /*force*/, bool /*whole*/) {
    return std::vector<Turn>(keys.size(), Turn::mine);
  }
  /// Called several times a second.
  virtual void tick() {}
  /// Writes what is not written yet. Throws RunError.
  virtual void flush() {}
};

/// Opens F.db for a whole sweep, merging what shards have spooled, or the spool file of a shard beside it. An
/// empty path means memory. Throws ConfigError, RunError.
std::unique_ptr<RunSink> open_sink(const std::filesystem::path& database, const Shard& shard);

/// For looking only: finds what is stored and spooled, makes no file.
std::unique_ptr<const RunSink> open_sink_to_look(const std::filesystem::path& database);

}  // namespace simsgd
