// Sweeps where nothing can be written, or where something else lies: a sentence, the exit code, and nothing
// that is lost.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/runs/results.hpp"
#include "analysis/runs/spool.hpp"
#include "analysis/runs/store.hpp"
#include "tests/analysis/support.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::analysis_bad_places {

namespace {

std::string exported(const std::string& file) {
  std::ostringstream out;
  export_results(file, out);
  return out.str();
}

/// fcntl(2) of a file system without locks, as NFS has them without a lock daemon.
int no_locks(int descriptor, int command, ...) {  // NOLINT(cert-dcl50-cpp): as the system's
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (command != F_SETLK && command != F_SETLKW) return fcntl(descriptor, command, argument);
  errno = ENOLCK;
  return -1;
}

}  // namespace

TEST_CASE("a file system that takes no locks is named at once; no other program is blamed") {
  const Folder folder;
  const std::string file = folder.path("r.db"),
                    said = file + " cannot be locked (No locks available): its file system takes no locks";
  sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  REQUIRE(system->xSetSystemCall(system, "fcntl", reinterpret_cast<sqlite3_syscall_ptr>(&no_locks)) ==
          SQLITE_OK);
  const std::string store = refusal_of<std::exception>([&] { const ResultStore opened(file); });
  system->xSetSystemCall(system, "fcntl", nullptr);
  CAPTURE(store);
  CHECK(store.find(said) != std::string::npos);
  // Of a shard's file flock(2) fails; here for want of a file.
  CHECK(
      refusal_of<std::exception>([&] { (void)locks(-1, LOCK_EX, file); }) ==
      file +
          " cannot be locked (Bad file descriptor): its file system takes no locks. Choose another place for -o");
}

TEST_CASE("a full disk ends the sweep with a sentence; with room again it goes on to the same bytes") {
  const Folder folder;
  const std::string disk = folder.path("disk");
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=400k") != 0) {
    MESSAGE("SKIPPED: no file system can be mounted here (", std::strerror(errno), ")");
    return;
  }
  Json scenario = small_study({2, 3, 4, 5, 6, 7, 8});
  scenario["seeds"] = 8;
  const std::string study = folder.write_json("s.json", scenario), database = disk + "/r.db";
  // Whole documents of 56 points do not fit beside the log.
  const Ended full = run_simsgd({"sweep", "run", study, "-o", database, "--documents", "--jobs", "1"});
  CAPTURE(full.err);
  CHECK(full.code == 1);
  CHECK(full.err.find("full") != std::string::npos);
  CHECK(full.err.find("Make room, and give the same command again: what is in the file stays") !=
        std::string::npos);
  CHECK(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=40M") == 0);
  const Ended again = run_simsgd({"sweep", "run", study, "-o", database, "--documents", "--jobs", "1"});
  CHECK(again.code == 0);
  CHECK(again.err.find("points are already in") != std::string::npos);  // some were kept
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", folder.path("r.db")}).code == 0);
  CHECK(exported(database) == exported(folder.path("r.db")));
  CHECK(umount2(disk.c_str(), MNT_DETACH) == 0);
}

TEST_CASE("a directory that may not be written to is told before anything runs") {
  const Folder folder;
  const std::string closed = folder.path("closed"), study = folder.write_json("s.json", small_study({1, 2}));
  std::filesystem::create_directory(closed);
  chmod(closed.c_str(), 0555);
  chmod(folder.path("").c_str(), 0755);
  const auto nobody = [] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(98);
  };
  for (const std::vector<std::string>& shard : {std::vector<std::string>{}, {"--shard", "1/2"}}) {
    std::vector<std::string> words = {"sweep", "run", study, "-o", closed + "/r.db"};
    words.insert(words.end(), shard.begin(), shard.end());
    const Ended ended = run_simsgd(words, {}, nobody);
    CAPTURE(ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.out == "");
    CHECK(ended.err.find("r.db") != std::string::npos);
    CHECK(ended.err.find(": ok") == std::string::npos);
  }
  chmod(closed.c_str(), 0755);
  CHECK(std::filesystem::is_empty(closed));
}

TEST_CASE("a store that may not be written to can be read") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", small_study({1, 2}));
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", folder.path("r.db")}).code == 0);
  const std::string before = exported(folder.path("r.db"));
  chmod(folder.path("r.db").c_str(), 0444);
  CHECK(exported(folder.path("r.db")) == before);
  chmod(folder.path("").c_str(), 0755);
  const Ended ended = run_simsgd({"sweep", "run", study, "-o", folder.path("r.db"), "--force"}, {}, [] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(98);
  });
  CHECK(ended.code == 2);
  CHECK(exported(folder.path("r.db")) == before);
}

TEST_CASE("an empty file becomes a store; anything else stays as it is") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", small_study({1}));
  const std::string empty = folder.write("empty.db", "");
  CHECK_THROWS_WITH_AS(StoredResults{empty},
                       (empty + ": holds no study. Name a file that simsgd sweep run -o made.").c_str(),
                       ConfigError);
  CHECK(run_simsgd({"sweep", "run", study, "-o", empty}).code == 0);
  CHECK(StoredResults(empty).studies().size() == 1);
  for (const std::string& text : {std::string("name,value\n"), std::string(8192, 'x'), contents(study)}) {
    const std::string foreign = folder.write("foreign.db", text);
    const Ended ended = run_simsgd({"sweep", "run", study, "-o", foreign});
    CHECK(ended.code == 2);
    CHECK(ended.err.find("foreign.db: cannot be used as a result file") != std::string::npos);
    CHECK(contents(foreign) == text);
    CHECK_THROWS_AS(merge_stores({empty, foreign}, folder.path("merged.db")), ConfigError);
    CHECK(!std::filesystem::exists(folder.path("merged.db")));
  }
}

TEST_CASE("where all points fail there are sentences, exit code 3, and a store that can be read") {
  const Folder folder;
  Json scenario = small_study({2, 3, 4});
  scenario["stop"]["steps"] = 1000000000;
  const std::string study = folder.write_json("s.json", scenario), database = folder.path("r.db");
  const Ended ended = run_simsgd({"sweep", "run", study, "-o", database, "--timeout", "0.2"});
  CHECK(ended.code == 3);
  CHECK(ended.err.find("cluster/workers=4: The process took longer than 0.2 s.") != std::string::npos);
  const StoredResults results(database);
  for (const ResultPoint& point : results.studies().at(0).points) {
    CHECK(point.status == RunStatus::timeout);
    CHECK(point.error == "The process took longer than 0.2 s.");
    CHECK(point.metrics.empty());
    CHECK(results.workers(point.key).empty());
    CHECK(results.scenario(point.key)["cluster"]["workers"] == point.coordinates.at(0).value);
  }
  CHECK(exported(database).find("\"status\":\"timeout\"") != std::string::npos);
}

TEST_CASE("2^31 seeds are refused before memory is spent") {
  const Folder folder;
  Json scenario = small_study({1, 2});
  scenario["seeds"] = std::int64_t{1} << 31;
  const std::string study = folder.write_json("s.json", scenario);
  for (const char* verb : {"run", "plan"}) {
    const Ended ended = run_simsgd({"sweep", verb, study});
    CHECK(ended.code == 2);
    CHECK(ended.err.find("2147483648") != std::string::npos);
  }
}

}  // namespace simsgd::test::analysis_bad_places
