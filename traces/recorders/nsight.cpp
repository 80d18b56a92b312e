// nsight: an SQLite export of Nsight Systems (nsys export --type sqlite). Read: kernels of NCCL as
// measurements, and for each worker (a process on a GPU) and step the time for which its GPU computed, the
// union of its other kernels. Steps are NVTX ranges whose text says so ("step 12", "ProfilerStep#12"); a
// kernel belongs to the range in which it was launched. assumed: correlation ids of a process grow with time,
// so that those of a range lie between its first and its last one. Tables and columns that are missing are
// counted; times are nanoseconds.
//   https://docs.nvidia.com/nsight-systems/UserGuide, "SQLite Schema Reference"
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/import.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"

namespace simsgd::importers {

namespace {

/// An SQLite database that others wrote, only read: of its schema nothing is trusted. Views, triggers and
/// virtual tables are left alone, and a database that is damaged ends in what could be read until there.
class SqliteFile {
 public:
  /// Throws ConfigError where it cannot be opened: it is in a pipe, compressed, or not whole from its first
  /// page on.
  explicit SqliteFile(Input& input) {
    const auto refuse = [&](const std::string& problem, const std::string& remedy) {
      return ConfigError({input.name(), "", problem, "", remedy});
    };
    if (!input.in_memory() && input.plain_path().empty())
      throw refuse("is an SQLite database that is compressed or in a pipe, and must be read in place",
                   "Decompress it, and name the file itself");
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

constexpr std::int64_t kStoreApplication = 0x53474472;  // of our own result files: "SGDr"
constexpr std::size_t kMostRows = 50'000, kMostNames = 100'000;
constexpr const char *kKernels = "CUPTI_ACTIVITY_KIND_KERNEL", *kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME",
                     *kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY", *kRanges = "NVTX_EVENTS",
                     *kStrings = "StringIds";

// NVTX ranges of one process, found by an instant or by the call that launched a kernel.
struct ProfileRange {
  std::int64_t start_ns = 0, end_ns = 0;
  double value = 0;  // number of the step, or bytes
  std::int64_t first_call = std::numeric_limits<std::int64_t>::max(), last_call = -1;
};

/// Ranges of one process that do not overlap, by time.
struct ProfileRanges {
  static constexpr std::size_t kMost = std::size_t{1} << 20;
  std::vector<ProfileRange> ranges;

  ProfileRange* at(std::int64_t time_ns) {
    ProfileRange* const range = last(time_ns, &ProfileRange::start_ns);
    return range != nullptr && time_ns < range->end_ns ? range : nullptr;
  }
  /// The range in which a kernel was launched, by the call that did so.
  const ProfileRange* of_call(std::int64_t call) {
    const ProfileRange* const range = last(call, &ProfileRange::first_call);
    return range != nullptr && call <= range->last_call ? range : nullptr;
  }

 private:
  ProfileRange* last(std::int64_t place, std::int64_t ProfileRange::*begin) {
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), place,
                         [begin](std::int64_t p, const ProfileRange& range) { return p < range.*begin; });
    return after == ranges.begin() ? nullptr : &*std::prev(after);
  }
};

using ProcessId = std::int64_t;
// A thread's and a process' id: hardware, virtual machine and process, then 24 bits of the thread.
ProcessId process_of(std::int64_t global) { return global >> 24; }

struct GpuWorker {
  std::int64_t busy_until_ns = 0;
  std::map<std::uint64_t, double> compute_s;  // by step
};

// One export.
class NsightProfile {
 public:
  NsightProfile(Input& input, ImportedFile& file, int first_worker)
      : database_(input), file_(file), first_worker_(first_worker) {
    if (database_.application_id() == kStoreApplication)
      throw ConfigError({file.name(), "", "is a result file of simsgd, not a profile", "",
                         "Export its runs first: simsgd results export FILE"});
    if (!has(kKernels))
      throw ConfigError(
          {file.name(), "", std::string("has no table ") + kKernels, "",
           "Profile with nsys profile --trace=cuda,nvtx, and export with nsys export --type sqlite"});
  }

  int read() {
    if (!has(kStrings)) file_.ignore(std::string("missing tables: ") + kStrings);
    read_strings();
    read_ranges();
    read_calls();
    read_kernels();
    if (has(kCopies)) file_.understand("tables of copies, left out");
    return finish();
  }

 private:
  bool has(const std::string& table) const { return database_.tables().contains(table); }

  bool lacks(const std::string& table, const std::vector<std::string>& needed) {
    const std::set<std::string> there = database_.columns(table);
    for (const std::string& column : needed)
      if (!there.contains(column)) {
        file_.ignore(fmt::format("missing columns: {}.{}", table, column));
        return true;
      }
    return false;
  }

  void damaged(const SqliteFile::Rows& rows, const std::string& table) {
    if (!rows.damage().empty())
      file_.ignore(fmt::format("tables that cannot be read to the end ({}): {}", rows.damage(), table));
  }

  // Only what matters of them.
  void read_strings() {
    if (!has(kStrings) || lacks(kStrings, {"id", "value"})) return;
    SqliteFile::Rows rows = database_.rows(kStrings, {"id", "value"});
    while (rows.next()) {
      const std::string_view text = rows.text(1).substr(0, 512);
      if (names_.size() == kMostNames) {
        file_.ignore(fmt::format("names beyond the first {}", kMostNames));
      } else if (nccl_kernel_name(text) || step_name(text) || nccl_bytes(text)) {
        names_.emplace(rows.whole(0), text);
      }
    }
    damaged(rows, kStrings);
  }

  // By its id, or the text itself; "" for names that do not matter.
  std::string name_at(const SqliteFile::Rows& rows, int id) const {
    if (rows.is_text(id)) return std::string(rows.text(id).substr(0, 512));
    if (rows.is_null(id)) return "";
    const auto found = names_.find(rows.whole(id));
    return found == names_.end() ? "" : found->second;
  }

  void read_ranges() {
    if (!has(kRanges)) return file_.ignore(std::string("missing tables: ") + kRanges);
    if (lacks(kRanges, {"start", "end", "globalTid"})) return;
    SqliteFile::Rows rows = database_.rows(kRanges, {"start", "end", "globalTid", "text", "textId"}, "start");
    while (rows.next()) {
      std::string name = name_at(rows, 3);
      if (name.empty()) name = name_at(rows, 4);
      const std::optional<StepName> step = step_name(name);
      const std::optional<double> bytes = nccl_bytes(name);
      if (rows.is_null(1) || (!step && !bytes)) {
        file_.understand("NVTX events that are neither a step nor a size");
        continue;
      }
      ProfileRange range{rows.whole(0), rows.whole(1)};
      if (range.start_ns < 0 || range.end_ns < range.start_ns) {
        file_.ignore("ranges that end before they begin");
        continue;
      }
      const ProcessId process = process_of(rows.whole(2));
      range.value = bytes ? *bytes : static_cast<double>(step->number.value_or(++counted_[process]));
      std::vector<ProfileRange>& own = (bytes ? sizes_ : steps_)[process].ranges;
      if (own.size() == ProfileRanges::kMost)
        file_.ignore(fmt::format("ranges beyond the first {}", ProfileRanges::kMost));
      else
        own.push_back(range);
    }
    damaged(rows, kRanges);
    for (auto* all : {&steps_, &sizes_})
      for (auto& [process, of] : *all)
        std::ranges::stable_sort(
            of.ranges, [](const ProfileRange& a, const ProfileRange& b) { return a.start_ns < b.start_ns; });
  }

  void read_calls() {
    if (!has(kCalls) || lacks(kCalls, {"start", "globalTid", "correlationId"})) {
      file_.understand(
          std::string("tables of kernels that are assigned to steps by their start, for lack of ") + kCalls);
      return;
    }
    by_call_ = true;
    SqliteFile::Rows rows = database_.rows(kCalls, {"start", "globalTid", "correlationId"});
    while (rows.next())
      for (auto* all : {&steps_, &sizes_}) {
        const auto process = all->find(process_of(rows.whole(1)));
        ProfileRange* range = process == all->end() ? nullptr : process->second.at(rows.whole(0));
        if (range == nullptr || rows.whole(2) < 0) continue;
        range->first_call = std::min(range->first_call, rows.whole(2));
        range->last_call = std::max(range->last_call, rows.whole(2));
      }
    damaged(rows, kCalls);
    for (auto* all : {&steps_, &sizes_})  // a range without a call would be in the way
      for (auto& [process, of] : *all)
        std::erase_if(of.ranges, [](const ProfileRange& range) { return range.last_call < 0; });
  }

  const ProfileRange* range_of(std::map<ProcessId, ProfileRanges>& all, ProcessId process,
                               std::int64_t start_ns, std::int64_t call) {
    const auto found = all.find(process);
    if (found == all.end()) return nullptr;
    return by_call_ ? found->second.of_call(call) : found->second.at(start_ns);
  }

  void read_kernels() {
    if (lacks(kKernels, {"start", "end"})) return;
    SqliteFile::Rows rows = database_.rows(
        kKernels, {"start", "end", "deviceId", "globalPid", "correlationId", "shortName", "demangledName"},
        "start");
    while (rows.next()) {
      const std::int64_t start_ns = rows.whole(0), end_ns = rows.whole(1);
      if (start_ns < 0 || end_ns < start_ns) {
        file_.ignore("kernels that end before they begin");
        continue;
      }
      const ProcessId process = process_of(rows.whole(3));
      const std::pair key{process, rows.whole(2)};
      if (workers_.size() == 4096 && !workers_.contains(key)) {
        file_.ignore("kernels of more than 4096 workers");
        continue;
      }
      std::string name = name_at(rows, 6);  // the demangled one is never shorter
      if (!nccl_kernel_name(name)) name = name_at(rows, 5);
      const ProfileRange* const step = range_of(steps_, process, start_ns, rows.whole(4));
      if (const auto kernel = nccl_kernel_name(name))
        collective(*kernel, key, static_cast<double>(end_ns - start_ns) / 1e9, step,
                   range_of(sizes_, process, start_ns, rows.whole(4)));
      else
        compute(workers_[key], start_ns, end_ns, step);
    }
    damaged(rows, kKernels);
  }

  void collective(const NcclKernelName& kernel, const std::pair<ProcessId, std::int64_t>& worker,
                  double time_s, const ProfileRange* step, const ProfileRange* size) {
    workers_.try_emplace(worker);
    if (rows_.size() == kMostRows)
      return file_.ignore(fmt::format("NCCL kernels beyond the first {}", kMostRows));
    if (size == nullptr) file_.understand("NCCL kernels of unknown size");
    Measurement row{.quantity = "time_s", .operation = kernel.operation, .value = time_s};
    if (size != nullptr) row.bytes = size->value;
    for (const auto& [label, text] :
         {std::pair{"algorithm", kernel.algorithm}, {"protocol", kernel.protocol}, {"type", kernel.type}})
      if (!text.empty()) row.labels[label] = printable(text);
    if (step != nullptr) row.labels["step"] = fmt::format("{:.0f}", step->value);
    rows_.emplace_back(worker, std::move(row));
  }

  // Kernels come by their start: what lies before the latest end so far is counted already.
  void compute(GpuWorker& worker, std::int64_t start_ns, std::int64_t end_ns, const ProfileRange* step) {
    const std::int64_t from_ns = std::max(start_ns, worker.busy_until_ns);
    worker.busy_until_ns = std::max(end_ns, worker.busy_until_ns);
    if (step == nullptr) return file_.understand("kernels outside of steps");
    file_.understand("kernels of steps");
    worker.compute_s[static_cast<std::uint64_t>(step->value)] +=
        static_cast<double>(std::max<std::int64_t>(0, end_ns - from_ns)) / 1e9;
  }

  // Workers by process and GPU.
  int finish() {
    std::map<std::pair<ProcessId, std::int64_t>, int> numbers;
    for (const auto& [key, worker] : workers_) {
      const int number = first_worker_ + static_cast<int>(numbers.size());
      numbers[key] = number;
      for (const auto& [step, compute_s] : worker.compute_s) {
        file_.steps.push_back({number, step, compute_s});
        file_.add({.quantity = "compute_s",
                   .value = compute_s,
                   .labels = {{"rank", std::to_string(number)}, {"step", std::to_string(step)}}});
      }
    }
    for (auto& [key, row] : rows_) {
      row.labels["rank"] = std::to_string(numbers.at(key));
      file_.add(std::move(row));
    }
    if (!workers_.empty() && file_.steps.empty())
      file_.ignore("profiles without an NVTX range that is a step");
    return first_worker_ + static_cast<int>(numbers.size());
  }

  SqliteFile database_;
  ImportedFile& file_;
  int first_worker_;
  bool by_call_ = false;
  std::unordered_map<std::int64_t, std::string> names_;
  std::map<ProcessId, ProfileRanges> steps_, sizes_;
  std::map<ProcessId, std::uint64_t> counted_;
  std::map<std::pair<ProcessId, std::int64_t>, GpuWorker> workers_;
  std::vector<std::pair<std::pair<ProcessId, std::int64_t>, Measurement>> rows_;
};

class Nsight final : public Importer {
 public:
  void read(Input& input, ImportedFile& file) override {
    workers_ = NsightProfile(input, file, workers_).read();
  }

 private:
  int workers_ = 0;  // of the files so far
};

bool is_sqlite(std::string_view head) { return head.starts_with(std::string_view("SQLite format 3\0", 16)); }

}  // namespace

std::vector<ImportFormat> nsight() {
  return {{{.name = "nsight",
            .summary = "SQLite exports of Nsight Systems: NCCL's kernels, and computing by worker and step",
            .citation = "https://docs.nvidia.com/nsight-systems/UserGuide"},
           is_sqlite,
           make_importer<Nsight>}};
}

}  // namespace simsgd::importers
