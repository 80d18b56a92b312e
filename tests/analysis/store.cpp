#include "analysis/store/store.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "analysis/store/store_schema.hpp"
#include "sim/recording/metrics.hpp"
#include "tests/analysis/support.hpp"

namespace simsgd::test::analysis_store {

namespace {

std::string one(const Folder& folder, const std::string& sql) {
  const Database database(folder.path("r.db"), Database::Mode::create);
  Statement statement(database, sql);
  return statement.step() ? statement.text() : "no row";
}

std::string rejection(const std::string& file) {
  try {
    ResultStore{file};
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
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
  CHECK(run.document.dump() == made_run("k1").document.dump());
  CHECK(run.context == made_run("k1").context);
  const RunRow failed = store.run("k2").value();
  CHECK(failed.status == RunStatus::failed);
  CHECK(failed.error == "Deadlock.");
  CHECK(failed.scenario == made_run("k2").scenario);
  CHECK(failed.document.is_null());
  CHECK(!store.run("k3"));
  CHECK(store.status("k2") == RunStatus::failed);
  CHECK(!store.status("k3"));
}

TEST_CASE("a damaged store is called damaged, and not a defect of the program") {
  const Folder folder;
  ResultStore(folder.path("r.db")).put(made_run("k1"));
  const auto failure = [&folder](const std::string& column, const std::string& text) -> std::string {
    one(folder, "UPDATE runs SET " + column + " = '" + text + "' RETURNING key");
    try {
      ResultStore(folder.path("r.db")).run("k1");
    } catch (const RunError& error) {
      return folder.without_folder(error.what());
    }
    return "";
  };
  const std::string remedy = ". Name a new file with -o, or remove this one and run again.";
  CHECK(failure("document", "{}") == "r.db is damaged: it holds a document without \"metrics\"" + remedy);
  CHECK(failure("document", "{\"a") == "r.db is damaged: it holds text that is no JSON" + remedy);
  CHECK(failure("scenario", "[]") == "r.db is damaged: it holds JSON that is no object" + remedy);
}

TEST_CASE("metrics and curves have rows of their own; what has no value has none") {
  const Folder folder;
  ResultStore(folder.path("r.db")).put(made_run("k1", 0.25));
  CHECK(
      one(folder,
          "SELECT value FROM metrics JOIN runs ON run = id WHERE key = 'k1' AND name = 'train_loss_final'") ==
      "0.25");
  CHECK(one(folder, "SELECT count(*) FROM metrics") == "2");
  CHECK(one(folder, "SELECT step || ' ' || time_s FROM series WHERE name = 'train_loss'") == "1 0.05");
  CHECK(one(folder, "SELECT count(*) FROM series WHERE name = 'train_loss'") == "1");
  CHECK(one(folder, "SELECT value FROM series WHERE name = 'test_accuracy' AND step = 2") == "0.9");
}

TEST_CASE("a result replaces an earlier run; a failure does not replace a result") {
  const Folder folder;
  ResultStore store(folder.path("r.db"));
  store.put(failed_run("k", "No."));
  store.put(made_run("k", 0.5));
  CHECK(store.status("k") == RunStatus::ok);
  store.put(made_run("k", 0.25));
  CHECK(store.run("k")->document["metrics"]["train_loss_final"] == 0.25);
  store.put(failed_run("k", "No."));
  CHECK(store.run("k")->document["metrics"]["train_loss_final"] == 0.25);
  CHECK(one(folder, "SELECT count(*) FROM runs") == "1");
  CHECK(one(folder, "SELECT count(*) FROM metrics") == "2");
}

TEST_CASE("a sweep keeps the order of its points, once however often it runs") {
  const Folder folder;
  ResultStore store(folder.path("r.db"));
  SweepRow sweep{"id", "study", "s.json", {"/seed"}, {}};
  for (const int seed : {3, 1, 2})
    sweep.points.push_back(
        {fmt::format("seed={}", seed), {{{"pointer", "/seed"}, {"value", seed}}}, fmt::format("k{}", seed)});
  store.put(sweep);
  store.put(sweep);
  const std::vector<SweepRow> sweeps = store.sweeps();
  REQUIRE(sweeps.size() == 1);
  CHECK(to_json(sweeps[0]) == to_json(sweep));
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
  CHECK(folder.without_folder(rejection(text)) ==
        "text.db: cannot be used as a result file (text.db: file is not a database). Name a new file, or one "
        "that simsgd "
        "sweep made.");
  Database(folder.path("other.db"), Database::Mode::create).execute("CREATE TABLE t (a)");
  CHECK(folder.without_folder(rejection(folder.path("other.db"))) ==
        "other.db: is no result file of simsgd. Name a new file, or one that simsgd sweep made.");
  { ResultStore newer(folder.path("newer.db")); }
  Database(folder.path("newer.db"), Database::Mode::create).execute("PRAGMA user_version = 99");
  CHECK(folder.without_folder(rejection(folder.path("newer.db"))) ==
        "newer.db: has layout 99, and this simsgd reads and writes layout 2. Name a new file, or one that "
        "simsgd sweep "
        "made.");
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
  CHECK(store->statuses() == std::map<std::string, RunStatus>{{"k1", RunStatus::ok}});
}

}  // namespace simsgd::test::analysis_store
