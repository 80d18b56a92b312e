#include <doctest/doctest.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "analysis/runs/database.hpp"
#include "analysis/runs/results.hpp"
#include "analysis/runs/run_row.hpp"
#include "analysis/runs/spool.hpp"
#include "analysis/runs/store.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/analysis/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::analysis_store {

namespace {

std::string one(const Folder& folder, const std::string& sql) {
  const Database database(folder.path("r.db"), Database::Mode::create);
  Statement statement(database, sql);
  return statement.step() ? statement.text() : "no row";
}

std::string rejection(const std::string& file) {
  return refusal_of<ConfigError>([&] { ResultStore{file}; });
}

}  // namespace

TEST_CASE("a run comes back from the store with the same bytes") {
  const Folder folder;
  {
    ResultStore store(folder.path("r.db"));
    store.put(made_run("k1"));
    store.put(failed_run("k2", "Deadlock."));
  }
  const ResultStore store(folder.path("r.db"));
  const RunRow run = store.run("k1").value();
  CHECK(run.status == RunStatus::ok);
  CHECK(run.document == made_run("k1").document);
  CHECK(run.metrics == std::map<std::string, double>{{"simulated_time_s", 0.1}, {"train_loss_final", 0.5}});
  CHECK(run.notes == std::vector<std::string>{"made by hand"});
  const RunRow failed = store.run("k2").value();
  CHECK(failed.status == RunStatus::failed);
  CHECK(failed.error == "Deadlock.");
  CHECK(failed.read()["scenario"] == made_document()["scenario"]);
  CHECK(!failed.read().contains("metrics"));
  CHECK(!store.run("k3"));
  CHECK(store.status("k2") == RunStatus::failed);
  CHECK(!store.status("k3"));
}

TEST_CASE("a whole document is kept with every byte, compressed; a brief one tells of workers by quantiles") {
  const Folder folder;
  {
    ResultStore store(folder.path("r.db"));
    store.put(ended_run("whole", made_document(), true));
    store.put(made_run("brief"));
  }
  const ResultStore store(folder.path("r.db"));
  CHECK(store.run("whole")->document == made_document().dump());
  CHECK(store.is_whole("whole"));
  CHECK(!store.is_whole("brief"));
  CHECK(one(folder, "SELECT length(document) < 500 FROM runs WHERE key = 'whole'") == "1");
  CHECK(!store.run("brief")->read().contains("workers"));
  ResultStore(folder.path("r.db"))
      .put(ResultStudy{"id", "study", "s.json", {}, {{0, "", {}, {}, "whole", {}, "", {}}}});
  const StoredResults results(folder.path("r.db"));
  CHECK(results.workers("brief").at("compute_s").back() == 0.1);
  CHECK(results.workers("whole").at("compute_s").at(2).get<double>() == doctest::Approx(0.075));
  CHECK(results.busiest_links("brief").at(0).name == "a");
  CHECK(results.scenario("whole") == made_document()["scenario"]);
  CHECK(results.curve("brief", "train_loss").size() == 2);
  CHECK(results.curve("brief", "train_loss")[0].time_s == 0.05);
  CHECK(results.curve("brief", "consensus_distance").empty());
  CHECK(results.curve("brief", "test_accuracy").at(0).value == 0.9);
}

TEST_CASE("a document of 20 kB takes some hundred bytes beside one that differs in two numbers") {
  const Folder folder;
  std::string document = R"({"scenario":{"bandwidth":1,"layers":[)";
  for (int i = 0; i < 400; ++i) document += fmt::format(R"({{"parameters":{}}},)", i * 7919 % 65536);
  document += R"(0]},"seed":)";
  {
    ResultStore store(folder.path("r.db"));
    for (int seed = 1; seed <= 20; ++seed) {
      RunRow run = made_run(fmt::format("k{}", seed));
      run.document = document + fmt::format("{}}}", seed);
      if (seed % 2 == 0) run.document.replace(run.document.find("\":1,"), 4, fmt::format("\":{},", seed));
      store.put(run);
    }
  }
  const ResultStore store(folder.path("r.db"));
  CHECK(store.run("k7")->document == document + "7}");
  CHECK(store.run("k20")->document.starts_with(R"({"scenario":{"bandwidth":20,)"));
  CHECK(one(folder, "SELECT count(*) FROM bases") == "1");
  CHECK(one(folder, "SELECT max(length(document)) < 500 FROM runs") == "1");
}

TEST_CASE("a damaged store is called damaged, and not a defect of the program") {
  const Folder folder;
  const auto failure = [&folder](const std::string& set) -> std::string {
    ResultStore(folder.path("r.db")).put(made_run("k1"));
    one(folder, "UPDATE runs SET " + set + " RETURNING key");
    return folder.without_folder(refusal_of<RunError>([&] {
      const ResultStore store(folder.path("r.db"));
      (void)store.run("k1");
      (void)store.document("k1");
    }));
  };
  const std::string remedy = ". Name a new file with -o, or remove this one and run again.";
  CHECK(failure("document = '{}'") == "r.db is damaged: it holds bytes that zlib did not make" + remedy);
  CHECK(failure("base = 77") == "r.db is damaged: it holds bytes that zlib did not make" + remedy);
  CHECK(failure("notes = '{'") == "r.db is damaged: it holds text that is not JSON" + remedy);
  RunRow run = made_run("k1");
  run.document = "{\"a";
  ResultStore store(folder.path("r.db"));
  store.put(run);
  CHECK_THROWS_WITH_AS(store.document("k1"),
                       (folder.path("r.db") + " is damaged: it holds text that is not JSON" + remedy).c_str(),
                       RunError);
}

TEST_CASE("metrics have rows of their own; what has no value has none") {
  const Folder folder;
  ResultStore(folder.path("r.db")).put(made_run("k1", 0.25));
  CHECK(
      one(folder,
          "SELECT value FROM metrics JOIN runs ON run = id WHERE key = 'k1' AND name = 'train_loss_final'") ==
      "0.25");
  CHECK(one(folder, "SELECT count(*) FROM metrics") == "2");
}

TEST_CASE("a result replaces an earlier run; a failure does not replace a result") {
  const Folder folder;
  ResultStore store(folder.path("r.db"));
  store.put(failed_run("k", "No."));
  store.put(made_run("k", 0.5));
  CHECK(store.status("k") == RunStatus::ok);
  store.put(made_run("k", 0.25));
  CHECK(store.run("k")->metrics.at("train_loss_final") == 0.25);
  store.put(failed_run("k", "No."));
  CHECK(store.run("k")->metrics.at("train_loss_final") == 0.25);
  CHECK(one(folder, "SELECT count(*) FROM runs") == "1");
  CHECK(one(folder, "SELECT count(*) FROM metrics") == "2");
}

TEST_CASE("a sweep keeps the order of its points, once however often it runs") {
  const Folder folder;
  ResultStore store(folder.path("r.db"));
  ResultStudy sweep{"id", "study", "s.json", {"/seed"}, {}};
  for (const int seed : {3, 1, 2}) {
    ResultPoint& point = sweep.points.emplace_back();
    point.label = fmt::format("seed={}", seed);
    point.coordinates = {{"cluster/workers", "/cluster/workers", "8", 8, true}};
    point.seed = seed;
    point.key = fmt::format("k{}", seed);
    point.optional = seed == 2;
  }
  store.put(sweep);
  store.put(sweep);
  const std::vector<ResultStudy> sweeps = store.studies();
  REQUIRE(sweeps.size() == 1);
  CHECK(to_json(sweeps[0]) == to_json(sweep));
  CHECK(sweeps[0].points[2].seed == 2);
  CHECK(sweeps[0].points[2].optional);
  CHECK(sweeps[0].points[1].coordinates.at(0).circumstance == true);
}

TEST_CASE("every column and every metric of a result file is documented in it") {
  const Folder folder;
  ResultStore store(folder.path("r.db"));
  for (const StoreTable& table : store_tables()) {
    CAPTURE(table.name);
    CHECK(!table.definition.empty());
    CHECK(one(folder, fmt::format("SELECT count(*) FROM pragma_table_info('{}')", table.name)) ==
          std::to_string(table.columns.size()));
    for (const StoreColumn& column : table.columns) {
      CAPTURE(column.name);
      const bool never_null = column.type.find("NOT NULL") != std::string::npos ||
                              column.type.find("PRIMARY KEY") != std::string::npos;
      CHECK(column.when_empty.empty() == never_null);
      CHECK(
          one(folder,
              fmt::format("SELECT definition FROM column_info WHERE table_name = '{}' AND column_name = '{}'",
                          table.name, column.name)) == column.definition);
    }
  }
  for (const Metric& metric : metrics())
    CHECK(one(folder, fmt::format("SELECT definition FROM metric_info WHERE name = '{}'", metric.name)) ==
          metric.definition);
}

TEST_CASE("files that are something else are refused") {
  const Folder folder;
  const std::string text = folder.write("text.db", std::string(4096, 'x'));
  CHECK(
      folder.without_folder(rejection(text)) ==
      "text.db: cannot be used as a result file (text.db: file is not a database). Name a new file, or one that simsgd sweep made.");
  Database(folder.path("other.db"), Database::Mode::create).execute("CREATE TABLE t (a)");
  CHECK(folder.without_folder(rejection(folder.path("other.db"))) ==
        "other.db: is not a result file of simsgd. Name a new file, or one that simsgd sweep made.");
  { ResultStore newer(folder.path("newer.db")); }
  Database(folder.path("newer.db"), Database::Mode::create).execute("PRAGMA user_version = 99");
  CHECK(
      folder.without_folder(rejection(folder.path("newer.db"))) ==
      "newer.db: has layout 99, and this simsgd reads and writes layout 4. Use the simsgd that made it, or name a new file.");
  Database(folder.path("newer.db"), Database::Mode::create).execute("PRAGMA user_version = 3");
  CHECK(
      folder.without_folder(rejection(folder.path("newer.db"))) ==
      "newer.db: has layout 3, and this simsgd reads and writes layout 4. Run its studies again into a new file: simsgd sweep run STUDY -o NEW.db.");
  CHECK(rejection(folder.path("text.db/r.db")) != "");  // its folder cannot be made
}

TEST_CASE("looking at a result file makes no file beside it") {
  const Folder folder;
  CHECK(!ResultStore::read_only(folder.path("r.db")));
  { ResultStore(folder.path("r.db")).put(made_run("k")); }
  const auto store = ResultStore::read_only(folder.path("r.db"));
  REQUIRE(store);
  CHECK(store->status("k") == RunStatus::ok);
  CHECK(!std::filesystem::exists(folder.path("r.db-wal")));
}

TEST_CASE("a look at a result file that is being written sees what is committed") {
  const Folder folder;
  ResultStore writer(folder.path("r.db"));
  writer.put(made_run("k1"));
  const auto store = ResultStore::read_only(folder.path("r.db"));
  REQUIRE(store);
  CHECK(store->statuses().size() == 1);
  CHECK(store->statuses().at("k1").status == RunStatus::ok);
}

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

TEST_CASE("the key of a run is the same on every machine") {
  // Python: uuid.uuid5(uuid.UUID("5d0e6a52-0f3b-4c19-9a77-b241ce836df4"), 'run\n1\n{"a":0.1,"seed":1}')
  CHECK(run_key(Json::parse(R"({"seed": 1, "a": 0.1})"), 1) == "55f50971-2f87-50bc-aaf4-5ec902ca8055");
}

TEST_CASE("another seed, another value and another model version are other runs") {
  const std::string key = run_key({{"seed", 1}, {"a", 0.1}}, 1);
  CHECK(run_key({{"a", 0.1}, {"seed", 1}}, 1) == key);
  CHECK(run_key({{"seed", 2}, {"a", 0.1}}, 1) != key);
  CHECK(run_key({{"seed", 1}, {"a", 0.2}}, 1) != key);
  CHECK(run_key({{"seed", 1}, {"a", 0.1}}, 2) != key);
}

}  // namespace simsgd::test::analysis_store
