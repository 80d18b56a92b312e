#include "analysis/runs/run_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/runs/spool.hpp"
#include "analysis/runs/store.hpp"
#include "sim/base/check.hpp"

namespace simsgd {

namespace fs = std::filesystem;

namespace {

// Keeps runs until they are forgotten.
class MemorySink final : public RunSink {
 public:
  std::optional<RunStatus> status(const std::string& key) const override {
    const auto found = runs_.find(key);
    return found == runs_.end() ? std::nullopt : std::optional(found->second.status);
  }
  bool is_whole(const std::string& key) const override {
    const auto found = runs_.find(key);
    return found != runs_.end() && found->second.whole;
  }
  std::optional<RunRow> run(const std::string& key) const override {
    const auto found = runs_.find(key);
    return found == runs_.end() ? std::nullopt : std::optional(found->second);
  }
  void put(const ResultStudy&) override {}
  void put(RunRow&& run) override {
    RunRow& kept = runs_[run.key];
    kept = std::move(run);
  }
  void forget(const std::string& key) override { runs_.erase(key); }

 private:
  std::map<std::string, RunRow> runs_;
};

// Rows are written some at a time: a transaction costs more than a row.
class StoreSink final : public RunSink {
 public:
  explicit StoreSink(const fs::path& database) : store_(database), turns_(store_.database()) {
    merge_spool(database, store_);
  }
  ~StoreSink() override {
    try {
      StoreSink::flush();
    } catch (const RunError&) {
      // Whoever could be told was told when the file could not be written before.
    }
  }
  StoreSink(const StoreSink&) = delete;
  StoreSink& operator=(const StoreSink&) = delete;

  std::optional<RunStatus> status(const std::string& key) const override {
    const RunRow* run = unwritten(key);
    return run != nullptr ? run->status : store_.status(key);
  }
  bool is_whole(const std::string& key) const override {
    const RunRow* run = unwritten(key);
    return run != nullptr ? run->whole : store_.is_whole(key);
  }
  std::optional<RunRow> run(const std::string& key) const override {
    const RunRow* run = unwritten(key);
    return run != nullptr ? *run : store_.run(key);
  }
  void put(const ResultStudy& sweep) override { store_.put(sweep); }
  void put(RunRow&& run) override {
    if (unwritten_.empty()) since_ = Clock::now();
    const RunRow& kept = unwritten_.emplace_back(std::move(run));
    unwritten_bytes_ += kept.document.size() / (kept.whole ? 1 : kBriefShrinks);
    // Which of two rows is kept, only the file tells. A disk that is nearly full takes small transactions
    // only.
    if (kept.status != RunStatus::ok || unwritten_.size() == kMostUnwritten ||
        unwritten_bytes_ > kMostUnwrittenBytes)
      flush();
  }
  std::vector<Turn> ask(const std::vector<std::string>& keys, bool force, bool whole) override {
    if (std::ranges::any_of(keys, [this](const std::string& key) { return unwritten(key) != nullptr; }))
      flush();
    return turns_.ask(keys, force, whole);
  }
  void tick() override {
    turns_.beat();
    if (!unwritten_.empty() && Clock::now() - since_ > kLongestUnwritten) flush();
  }
  void flush() override {
    if (unwritten_.empty()) return;
    unwritten_bytes_ = 0;
    try {
      store_.put(unwritten_);
      unwritten_.clear();
    } catch (const RunError&) {
      // A disk that is full may have room for some of them.
      for (; !unwritten_.empty(); unwritten_.erase(unwritten_.begin())) store_.put(unwritten_.front());
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostUnwritten = 128, kMostUnwrittenBytes = 256 << 10;
  static constexpr std::size_t kBriefShrinks = 16;  // to less than a sixteenth, over one like it
  static constexpr std::chrono::milliseconds kLongestUnwritten{100};

  /// The last one of that key; null where all are written.
  const RunRow* unwritten(const std::string& key) const {
    const auto found = std::find_if(unwritten_.rbegin(), unwritten_.rend(),
                                    [&key](const RunRow& run) { return run.key == key; });
    return found == unwritten_.rend() ? nullptr : &*found;
  }

  ResultStore store_;
  Turns turns_;
  std::vector<RunRow> unwritten_;    // results
  std::size_t unwritten_bytes_ = 0;  // of their documents
  Clock::time_point since_;
};

// What is in F.db and in all spool files beside it, without changing any. F.db is opened anew for each look:
// nobody keeps it open on a network file system.
class Archive : public RunSink {
 public:
  explicit Archive(const fs::path& database) : database_(database) {
    if (const auto store = ResultStore::read_only(database)) stored_ = store->statuses();
    for (const fs::path& file : spool_files(database))
      read_spool(file, {.run = [&](const RunRow& run, std::uint64_t at) { spooled(run, file, at); }});
  }

  std::optional<RunStatus> status(const std::string& key) const override {
    if (const auto found = spooled_.find(key); found != spooled_.end()) return found->second.status;
    const auto found = stored_.find(key);
    return found == stored_.end() ? std::nullopt : std::optional(found->second.status);
  }
  bool is_whole(const std::string& key) const override {
    if (const auto found = spooled_.find(key); found != spooled_.end()) return found->second.whole;
    const auto found = stored_.find(key);
    return found != stored_.end() && found->second.whole;
  }
  std::optional<RunRow> run(const std::string& key) const override {
    const auto found = spooled_.find(key);
    if (found == spooled_.end()) {
      const auto store = ResultStore::read_only(database_);
      return store ? store->run(key) : std::nullopt;
    }
    std::ifstream file(found->second.file, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(found->second.offset));
    std::string line;
    std::getline(file, line);
    return run_of_line(line);
  }
  void put(const ResultStudy&) override { CHECK(false, "an archive is for looking"); }
  void put(RunRow&&) override { CHECK(false, "an archive is for looking"); }

  /// A result is better than a failure, and else the later one counts.
  void spooled(const RunRow& run, const fs::path& file, std::uint64_t offset) {
    const std::optional<RunStatus> known = status(run.key);
    if (known == RunStatus::ok && run.status != RunStatus::ok) return;
    spooled_[run.key] = {run.status, run.whole, file, offset};
  }

 private:
  struct Place {
    RunStatus status;
    bool whole;
    fs::path file;
    std::uint64_t offset;
  };
  fs::path database_;
  std::unordered_map<std::string, StoredRun> stored_;
  std::unordered_map<std::string, Place> spooled_;
};

// Finds what all have written, and writes a file of its own.
class SpoolSink final : public Archive {
 public:
  SpoolSink(const fs::path& database, const fs::path& own, std::unique_ptr<SpoolWriter> writer)
      : Archive(database), file_(own), writer_(std::move(writer)) {}
  void put(const ResultStudy& sweep) override { writer_->append(sweep); }
  void put(RunRow&& run) override { spooled(run, file_, writer_->append(run)); }

 private:
  fs::path file_;
  std::unique_ptr<SpoolWriter> writer_;
};

}  // namespace

std::unique_ptr<RunSink> open_sink(const fs::path& database, const Shard& shard) {
  if (database.empty()) return std::make_unique<MemorySink>();
  if (shard.whole()) return std::make_unique<StoreSink>(database);
  const fs::path own = spool_directory(database) / (shard_name(shard) + ".jsonl");
  auto writer = std::make_unique<SpoolWriter>(own);  // holds the file before all are read
  return std::make_unique<SpoolSink>(database, own, std::move(writer));
}

std::unique_ptr<const RunSink> open_sink_to_look(const fs::path& database) {
  if (database.empty()) return std::make_unique<MemorySink>();
  return std::make_unique<Archive>(database);
}

namespace {

// A process of another machine, of which only the file can tell, beats every 5 s; one that has not for a
// minute is gone.
constexpr std::chrono::seconds kBeat{5};
constexpr std::int64_t kGone_s = 60;

// Where numbers of processes mean something: a machine, and a container in it.
std::string host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::error_code none;
  return fmt::format("{} {}", name.data(), std::filesystem::read_symlink("/proc/self/ns/pid", none).string());
}

// When the system started a process, in its ticks since boot (proc(5), field 22 of stat); empty where there
// is no such process, or it is dead already.
std::string started(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::size_t at = text.rfind(')');  // the name before it may hold anything
  if (at == std::string::npos || at + 2 >= text.size() || text[at + 2] == 'Z') return "";
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

std::int64_t now_s() { return static_cast<std::int64_t>(std::time(nullptr)); }

}  // namespace

Turns::Turns(const Database& database)
    : database_(database),
      claimed_(database, "SELECT process, ended FROM claims WHERE run = ?"),
      done_(database, "SELECT status = 'ok', whole FROM runs WHERE key = ?"),
      take_(database, "INSERT OR REPLACE INTO claims VALUES (?, ?, 0)"),
      last_beat_(std::chrono::steady_clock::now()) {
  Transaction transaction(database_);
  std::vector<std::int64_t> all;
  Statement processes(database_, "SELECT id FROM processes");
  while (processes.step()) all.push_back(processes.integer());
  for (const std::int64_t each : all)
    if (!lives(each)) forget(each);
  Statement insert(database_,
                   "INSERT INTO processes (host, pid, started, beat) VALUES (?, ?, ?, ?) RETURNING id");
  insert.bind(host()).bind(std::int64_t{getpid()}).bind(started(getpid())).bind(now_s()).step();
  me_ = insert.integer();
  insert.run();
  transaction.commit();
}

Turns::~Turns() {
  try {
    Transaction transaction(database_);
    forget(me_);
    transaction.commit();
  } catch (const RunError&) {
    // Whoever comes next sees that this process is gone.
  }
}

void Turns::forget(std::int64_t process) const {
  Statement(database_, "DELETE FROM claims WHERE process = ?").bind(process).run();
  Statement(database_, "DELETE FROM processes WHERE id = ?").bind(process).run();
}

bool Turns::lives(std::int64_t process) const {
  Statement row(database_, "SELECT host, pid, started, beat FROM processes WHERE id = ?");
  if (!row.bind(process).step()) return false;
  const std::string where = row.text();
  const std::int64_t pid = row.integer();
  const std::string since = row.text();
  const std::int64_t beat = row.integer();
  return where == host() ? !since.empty() && started(pid) == since : now_s() - beat < kGone_s;
}

std::vector<Turn> Turns::ask(const std::vector<std::string>& keys, bool force, bool whole) {
  Transaction transaction(database_);
  std::vector<Turn> turns;
  for (const std::string& key : keys) turns.push_back(turn_of(key, force, whole));
  transaction.commit();
  return turns;
}

Turn Turns::turn_of(const std::string& key, bool force, bool whole) {
  bool is_claimed = claimed_.reset().bind(key).step();
  const std::int64_t process = is_claimed ? claimed_.integer() : 0;
  const bool ended = is_claimed && claimed_.integer() != 0;
  claimed_.reset();
  if (is_claimed && process != me_ && !lives(process)) {
    forget(process);
    is_claimed = false;
  }
  const bool has_row = done_.reset().bind(key).step();
  const bool is_ok = has_row && done_.integer() != 0;
  const bool enough = is_ok && (!whole || done_.integer() != 0);
  done_.reset();
  Turn turn = Turn::mine;
  if (is_claimed && process != me_)
    turn = !ended ? Turn::busy : has_row && (!whole || enough || !is_ok) ? Turn::ended : Turn::mine;
  else if (!is_claimed && enough && !force)
    turn = Turn::ended;
  if (turn == Turn::mine) take_.reset().bind(key).bind(me_).run();
  return turn;
}

void Turns::beat() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_beat_ < kBeat) return;
  last_beat_ = now;
  Statement(database_, "UPDATE processes SET beat = ? WHERE id = ?").bind(now_s()).bind(me_).run();
}

}  // namespace simsgd
