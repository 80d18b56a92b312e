#include "analysis/runs/turns.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace simsgd {

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

Turn Turns::ask(const std::string& key, bool force, bool whole) {
  Transaction transaction(database_);
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
  transaction.commit();
  return turn;
}

void Turns::beat() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_beat_ < kBeat) return;
  last_beat_ = now;
  Statement(database_, "UPDATE processes SET beat = ? WHERE id = ?").bind(now_s()).bind(me_).run();
}

}  // namespace simsgd
