// `check` is the run's own examination: what it says of a file is what a run says.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <sstream>

#include "analysis/runs/results.hpp"
#include "analysis/runs/store.hpp"
#include "analysis/runs/sweep_points.hpp"
#include "tests/analysis/support.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::analysis_check_files {

namespace {

std::string checked(const Folder& folder, const std::string& name, const Overrides& overrides = {}) {
  try {
    return check_file(folder.path(name), overrides, {});
  } catch (const ConfigError& error) {
    return folder.without_folder(error.what());
  }
}

}  // namespace

TEST_CASE("every point of a study is examined, and an error that several have is told once") {
  const Folder folder;
  Json study = small_scenario();
  study["algorithm"] = {{"name", "wagma"}, {"group_size", 2}};
  study["axes"] = {{{"pointer", "/cluster/workers"}, {"values", {4, 6}}},
                   {{"pointer", "/algorithm/group_size"}, {"values", {2, 4}}},
                   {{"pointer", "/stop/steps"}, {"values", {1, 2}}}};
  folder.write_json("s.json", study);
  const std::string said = checked(folder, "s.json");
  CHECK(
      said ==
      "s.json:/algorithm/name: needs a power of two of workers, and this run has 6. Found: \"wagma\". Use 4 or 8 workers.");
  study["axes"][0]["values"] = {4};
  folder.write_json("s.json", study);
  CHECK(checked(folder, "s.json") == "a study of 4 points");
}

TEST_CASE("devices, clusters and workloads are examined by their own schemas") {
  const Folder folder;
  folder.write_json("d.json",
                    {{"name", "D"}, {"peak_flops", "1 TFLOPS"}, {"memroy", "1 GB"}, {"launch", -1}});
  const std::string said = checked(folder, "d.json");
  CHECK(said.find("d.json:/memroy: is an unknown key. Found: \"1 GB\". Did you mean \"memory\"?") !=
        std::string::npos);
  CHECK(said.find("d.json:/launch: is out of range. Found: -1.") != std::string::npos);
  folder.write_json("c.json", {{"gpus_per_node", 2},
                               {"nic", {{"bandwidth", 1e9}}},
                               {"device", {{"name", "D"}}},
                               {"topology", {{"name", "star"}}}});
  CHECK(
      checked(folder, "c.json") ==
      "c.json: has several GPUs per node and no \"gpu_link\". Add \"gpu_link\": NVLink or PCIe inside a node, such as {\"bandwidth\": \"12 GB/s\"}.");
  folder.write_json("w.json", {{"batch", 8}, {"layers", Json::array()}});
  CHECK(checked(folder, "w.json") == "w.json:/layers: is too short. Found: []. Give at least 1 element.");
  CHECK(checked(folder, "w.json", {{{"/layers", R"([{"type": "fc", "tensors": [10]}])"}}, {}}) ==
        "a workload");
}

// Sweeps where nothing can be written, or where something else lies: a sentence, the exit code, and nothing
// that is lost.

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

}  // namespace simsgd::test::analysis_check_files
