// simsgd import: table and document, what is said on stderr, exit codes, nothing written where anything is
// wrong.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::traces_verb {

using namespace cli;
using cli::Outcome;

namespace {

const char* const kLog =
    "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n4   2.50\nnoise\n8   3.00\n";

}  // namespace

TEST_CASE("import prints a table, and says on stderr what it made of each file") {
  const Scratch scratch;
  scratch.write("a.log", kLog);
  const Outcome outcome = scratch.simsgd("import a.log --set workers=4 --set machine=m");
  CHECK(outcome.code == 0);
  CHECK(
      outcome.out ==
      "quantity,operation,workers,nodes,bytes,value_SI,deviation_SI,samples,campaign,source,line,machine\r\n"
      "time_s,all_reduce,4,,4,2.5e-06,,1,,a.log,3,m\r\n"
      "time_s,all_reduce,4,,8,3e-06,,1,,a.log,5,m\r\n");
  CHECK(outcome.err ==
        "a.log: 2 measurements (osu)\n"
        "  1 tables\n"
        "  WARNING: 1 lines that belong to no table\n");
}

TEST_CASE("import -o writes the same table, and reads it again; --json is one document") {
  const Scratch scratch;
  scratch.write("a.log", kLog);
  CHECK(scratch.simsgd("import a.log -o data.csv").code == 0);
  const Outcome again = scratch.simsgd("import data.csv");
  CHECK(again.out == contents(scratch.path() / "data.csv"));
  const Outcome piped = scratch.simsgd("import - --json < a.log");
  const nlohmann::json document = nlohmann::json::parse(piped.out);
  CHECK(document["schema_version"] == 1);
  CHECK(document["rows"].size() == 2);
  CHECK(document["rows"][1]["value_SI"] == 3e-6);
  CHECK(document["rows"][1]["source"] == "<stdin>");
  CHECK(document["files"][0]["ignored"]["lines that belong to no table"] == 1);
}

TEST_CASE("import writes nothing where anything is wrong, and ends with 2") {
  const Scratch scratch;
  scratch.write("a.log", kLog);
  scratch.write("b.log", "nothing\n");
  scratch.write("map.json", "{\"values\": 3}");
  const Outcome outcome = scratch.simsgd("import a.log b.log none.log -o data.csv");
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("b.log: is of no format that is known.") == 0);
  CHECK(outcome.err.find("none.log: cannot be read (No such file or directory).") != std::string::npos);
  CHECK(outcome.err.ends_with("2 errors; nothing was run or written.\n"));
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "data.csv"));
  CHECK(scratch.simsgd("import a.log --map map.json").err ==
        "map.json:/values: is not a list. Found: 3. Give a list.\n");
  CHECK(scratch.simsgd("import a.log --set workers").code == 2);
  CHECK(scratch.simsgd("import a.log --set workers=1 --set workers=2").err ==
        "--set: sets one key twice. Found: workers=2. Keep one of the two.\n");
  CHECK(scratch.simsgd("import").code == 2);
}

TEST_CASE("import reads what simsgd writes itself: a run, runs of a sweep, and both forms of bench") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome run = scratch.simsgd("run s.json --json --set /stop/steps=2");
  REQUIRE(run.code == 0);
  const auto document = nlohmann::ordered_json::parse(run.out);
  scratch.write("run.json", run.out);
  scratch.write("lines.jsonl", document.dump() + "\n" + R"({"sweep": {}})" + "\n" +
                                   nlohmann::ordered_json{{"run", {{"document", document}}}}.dump() + "\n" +
                                   R"({"run": {"status": "failed", "document": null}})" +
                                   "\n{\"run\": {\"st");
  const Outcome outcome = scratch.simsgd("import run.json lines.jsonl --json");
  REQUIRE(outcome.code == 0);
  const nlohmann::json all = nlohmann::json::parse(outcome.out);
  REQUIRE(all["rows"].size() == 6);
  CHECK(all["rows"][1]["quantity"] == "iteration_time_mean_s");
  CHECK(all["rows"][1]["value_SI"].get<double>() ==
        document["metrics"]["iteration_time_mean_s"].get<double>());
  CHECK(all["rows"][1]["workers"] == 4);
  CHECK(all["rows"][1]["labels"]["algorithm"] == "local_sgd");
  CHECK(all["rows"][1]["labels"]["workload"] == "resnet20");
  CHECK(all["files"][1]["understood"]["runs that did not end well"] == 1);
  CHECK(all["files"][1]["understood"]["last lines that are cut"] == 1);
  CHECK(all["files"][1]["ignored"].empty());

  scratch.write("b.txt", scratch.simsgd("bench all_gather -b 1M -e 4M -f 2 --workers 4").out);
  scratch.write("b.json", scratch.simsgd("bench all_gather -b 1M -e 4M -f 2 --workers 4 --json").out);
  const nlohmann::json bench = nlohmann::json::parse(scratch.simsgd("import b.txt b.json --json").out);
  REQUIRE(bench["rows"].size() == 12);
  for (std::size_t i = 0; i < 6; ++i) {  // four digits in the text
    CHECK(bench["rows"][i]["value_SI"].get<double>() ==
          doctest::Approx(bench["rows"][i + 6]["value_SI"].get<double>()).epsilon(1e-3));
    CHECK(bench["rows"][i]["operation"] == "all_gather");
    CHECK(bench["rows"][i]["workers"] == 4);
  }
}

}  // namespace simsgd::test::traces_verb
