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

TEST_CASE("a whole document is kept with every byte, compressed; a brief one as rows") {
  const Folder folder;
  {
    ResultStore store(folder.path("r.db"));
    store.put(ended_run("whole", made_document(), true));
    store.put(made_run("brief"));
  }
  const ResultStore store(folder.path("r.db"));
  CHECK(joined_document(store.run("whole").value()).dump() == made_document().dump());
  CHECK(store.is_whole("whole"));
  CHECK(!store.is_whole("brief"));
  CHECK(one(folder, "SELECT length(document) < 500 FROM runs WHERE key = 'whole'") == "1");
  CHECK(!store.run("brief")->document.contains("workers"));
  CHECK(store.workers("brief").at("compute_s").most == 0.1);
  CHECK(store.workers("whole").at("compute_s").median == doctest::Approx(0.075));
  CHECK(store.links("brief").at(0).name == "a");
}

TEST_CASE("a scenario of 20 kB takes some hundred bytes beside one that differs in two numbers") {
  const Folder folder;
  std::string scenario = R"({"cluster":{"bandwidth":1},"layers":[)";
  for (int i = 0; i < 400; ++i) scenario += fmt::format(R"({{"parameters":{}}},)", i * 7919 % 65536);
  scenario += R"(0],"seed":)";
  {
    ResultStore store(folder.path("r.db"));
    for (int seed = 1; seed <= 20; ++seed) {
      RunRow run = made_run(fmt::format("k{}", seed));
      run.scenario = scenario + fmt::format("{}}}", seed);
      if (seed % 2 == 0) run.scenario.replace(scenario.find("\":1}"), 4, fmt::format("\":{}}}", seed));
      store.put(run);
    }
  }
  const ResultStore store(folder.path("r.db"));
  CHECK(store.run("k7")->scenario == scenario + "7}");
  CHECK(store.scenario("k20").starts_with(R"({"cluster":{"bandwidth":20})"));
  CHECK(one(folder, "SELECT count(*) FROM scenarios") == "1");
  CHECK(one(folder, "SELECT max(length(scenario)) < 500 FROM runs") == "1");
}

TEST_CASE("a damaged store is called damaged, and not a defect of the program") {
  const Folder folder;
  const auto failure = [&folder](const std::string& column, const std::string& text) -> std::string {
    ResultStore(folder.path("r.db")).put(made_run("k1"));
    one(folder, "UPDATE runs SET " + column + " = '" + text + "' RETURNING key");
    try {
      ResultStore(folder.path("r.db")).run("k1");
    } catch (const RunError& error) {
      return folder.without_folder(error.what());
    }
    return "";
  };
  const std::string remedy = ". Name a new file with -o, or remove this one and run again.";
  CHECK(failure("scenario", "{}") == "r.db is damaged: it holds bytes that zlib did not make" + remedy);
  CHECK(failure("document", "{}") == "r.db is damaged: it holds bytes that zlib did not make" + remedy);
  CHECK(failure("context", "[]") == "r.db is damaged: it holds JSON that is no object" + remedy);
  CHECK(failure("context", "{\"a") == "r.db is damaged: it holds text that is no JSON" + remedy);
  ResultStore store(folder.path("r.db"));
  store.put(made_run("k1"));
  one(folder, "UPDATE facts SET text = id RETURNING id");
  one(folder,
      "UPDATE facts SET text = '{}' WHERE id = (SELECT facts FROM runs WHERE key = 'k1') RETURNING id");
  CHECK_THROWS_WITH_AS(
      store.run("k1"),
      (folder.path("r.db") + " is damaged: it holds a document without \"metrics\"" + remedy).c_str(),
      RunError);
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
  CHECK(one(folder, "SELECT count(*) FROM series WHERE name = 'train_loss'") == "2");
  CHECK(one(folder, "SELECT count(*) FROM series WHERE name = 'consensus_distance'") == "0");
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
      if (!table.select.empty()) continue;
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
        "other.db: is no result file of simsgd. Name a new file, or one that simsgd sweep made.");
  { ResultStore newer(folder.path("newer.db")); }
  Database(folder.path("newer.db"), Database::Mode::create).execute("PRAGMA user_version = 99");
  CHECK(
      folder.without_folder(rejection(folder.path("newer.db"))) ==
      "newer.db: has layout 99, and this simsgd reads and writes layout 3. Use the simsgd that made it, or name a new file.");
  Database(folder.path("newer.db"), Database::Mode::create).execute("PRAGMA user_version = 2");
  CHECK(
      folder.without_folder(rejection(folder.path("newer.db"))) ==
      "newer.db: has layout 2, and this simsgd reads and writes layout 3. Convert it: simsgd results merge newer.db -o NEW.db.");
  Database(folder.path("newer.db"), Database::Mode::create).execute("PRAGMA user_version = 1");
  CHECK(
      folder.without_folder(rejection(folder.path("newer.db"))) ==
      "newer.db: has layout 1, and this simsgd reads and writes layout 3. Run its studies again into a new file: simsgd sweep run STUDY -o NEW.db.");
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

}  // namespace simsgd::test::analysis_store
