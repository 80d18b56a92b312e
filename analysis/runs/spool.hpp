// Spool files: F.db.spool/shard-1-of-4.jsonl, to which one process appends a line for each sweep and each
// run, whole or ignored. They work on network file systems, where SQLite's WAL does not; whoever opens F.db
// next merges them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/runs/run_row.hpp"
#include "analysis/runs/store.hpp"

namespace simsgd {

/// Locks an open file (flock; `operation` LOCK_EX or LOCK_SH) without waiting; false where another process
/// holds it. Throws RunError where the file system cannot lock.
bool locks(int descriptor, int operation, const std::filesystem::path& file);

/// "F.db.spool".
std::filesystem::path spool_directory(const std::filesystem::path& database);
/// Its spool files, in the order of their names; none where there is no such folder.
std::vector<std::filesystem::path> spool_files(const std::filesystem::path& database);

/// Calls one of the two, where it is there, for each whole line of a spool file, ignores what is not JSON,
/// and returns the number of bytes of whole lines. Throws RunError for lines of another layout.
struct SpoolLines {
  std::function<void(RunRow, std::uint64_t offset)> run{};
  std::function<void(ResultStudy)> sweep{};
};
std::uint64_t read_spool(const std::filesystem::path& file, const SpoolLines& lines);

/// The run of such a line. Throws as run_from_text.
RunRow run_of_line(const std::string& line);

/// Puts all spool files of the database into the store, and removes those that nobody is appending to. Throws
/// RunError.
void merge_spool(const std::filesystem::path& database, ResultStore& store);

/// The end of a spool file that is written; locked while it is open.
class SpoolWriter {
 public:
  /// Makes the directory and the file; drops a line that was not finished. Throws ConfigError where it cannot
  /// be written, RunError where another process holds it.
  explicit SpoolWriter(const std::filesystem::path& file);
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  /// Returns where the line begins. Throws RunError.
  std::uint64_t append(const RunRow& run);
  void append(const ResultStudy& sweep);

 private:
  void acquire();
  std::uint64_t append_line(const std::string& line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace simsgd
