#include "analysis/runs/spool.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_spool {

namespace {

std::vector<std::string> keys(const std::string& file) {
  std::vector<std::string> keys;
  read_spool(file, {[&keys](const RunRow& run, std::uint64_t) { keys.push_back(run.key); },
                    [](const ResultStudy&) {}});
  return keys;
}

}  // namespace

TEST_CASE("a line that was not finished is ignored, and dropped by the next writer") {
  const Folder folder;
  const std::string file = folder.path("r.db.spool/shard-1-of-2.jsonl");
  SpoolWriter(file).append(made_run("k1"));
  std::ofstream(file, std::ios::app) << R"({"run": {"key": "k2", "sta)";
  CHECK(keys(file) == std::vector<std::string>{"k1"});
  SpoolWriter(file).append(made_run("k3"));
  CHECK(keys(file) == std::vector<std::string>{"k1", "k3"});
}

TEST_CASE("merging keeps results, prefers them to failures, and removes the files") {
  const Folder folder;
  const std::filesystem::path database = folder.path("r.db");
  SpoolWriter(spool_directory(database) / "shard-1-of-2.jsonl").append(made_run("k1"));
  SpoolWriter(spool_directory(database) / "shard-2-of-2.jsonl").append(failed_run("k1", "No."));
  SpoolWriter(spool_directory(database) / "shard-2-of-2.jsonl").append(failed_run("k2", "No."));
  ResultStore store(database);
  merge_spool(database, store);
  CHECK(store.run("k1")->document == made_run("k1").document);
  CHECK(store.status("k2") == RunStatus::failed);
  CHECK(!std::filesystem::exists(spool_directory(database)));
}

TEST_CASE("a spool file that somebody writes is merged, and stays") {
  const Folder folder;
  const std::filesystem::path database = folder.path("r.db"),
                              file = spool_directory(database) / "shard-1-of-2.jsonl";
  SpoolWriter writer(file);
  writer.append(made_run("k1"));
  ResultStore store(database);
  merge_spool(database, store);
  CHECK(store.status("k1") == RunStatus::ok);
  CHECK(std::filesystem::exists(file));
  CHECK_THROWS_WITH_AS(
      SpoolWriter{file},
      (file.string() + " is being written by another process: the same shard runs twice, or is being merged")
          .c_str(),
      RunError);
}

TEST_CASE("lines of another layout are refused, not lost") {
  const Folder folder;
  const std::string file = folder.write("r.db.spool/shard-1-of-2.jsonl", "{\"run\": {\"key\": \"k\"}}\n");
  ResultStore store(folder.path("r.db"));
  CHECK_THROWS_AS(merge_spool(folder.path("r.db"), store), RunError);
  CHECK(std::filesystem::exists(file));
}

TEST_CASE("a file system that takes no locks is an error, and a lock that somebody holds is none") {
  const Folder folder;
  const std::string file = folder.write("r.db", "");
  const int holder = open(file.c_str(), O_RDWR | O_CLOEXEC), other = open(file.c_str(), O_RDWR | O_CLOEXEC);
  CHECK(locks(holder, LOCK_EX, file));
  CHECK_FALSE(locks(other, LOCK_EX, file));
  close(holder);
  close(other);
  // A closed descriptor stands for what cannot be locked: flock fails, and not because of another program.
  CHECK_THROWS_WITH_AS(
      locks(other, LOCK_EX, file),
      (file +
       " cannot be locked (Bad file descriptor): its file system takes no locks. Choose another place for -o")
          .c_str(),
      RunError);
}

}  // namespace simsgd::test::analysis_spool
