// The verb `explore`: points that visitors ask for, and the store that keeps them.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>

#include "tests/analysis/support.hpp"
#include "tests/live/served.hpp"
#include "tests/support/contents.hpp"

namespace simsgd::test::live_explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json at_workers(double workers, int seeds = 1) { return {{"at", {{{"number", workers}}}}, {"seeds", seeds}}; }

}  // namespace

TEST_CASE("a point off the grid is simulated as `run` does it, is kept, and stands among the others") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", explored_study()), database = folder.path("s.db");
  {
    Served server({study, "-o", database, "--jobs", "2"});
    const json ticket = server.simulated(at_workers(3, 2));
    CHECK(ticket["at"] == json({{"cluster/workers", "3"}}));
    REQUIRE(ticket["runs"].size() == 2);
    for (const json& run : ticket["runs"]) {
      CHECK(run["state"] == "done");
      const Ended alone =
          run_simsgd({"run", study, "--set", "/cluster/workers=3", "--seed", run["seed"].get<std::string>(),
                      "--set", "/axes=[]", "--point", "0", "--json"});
      CAPTURE(alone.err);
      REQUIRE(alone.code == 0);
      CHECK(json::parse(alone.out)["metrics"] == run["metrics"]);
      CHECK(json::parse(alone.out)["intervals"] == run["intervals"]);
    }
    CHECK(ticket["runs"][0]["metrics"] != ticket["runs"][1]["metrics"]);
    CHECK(server.simulated(at_workers(4))["runs"][0]["state"] == "done");
    // What is there is not run again.
    CHECK(server.simulated(at_workers(3, 2))["runs"][1]["state"] == "done");
    CHECK(server.get("/state").json() == json({{"version", 4},
                                               {"running", 0},
                                               {"waiting", 0},
                                               {"simulated", 3},
                                               {"failed", 0},
                                               {"left", 997}}));
    const json report = server.get("/report").json();
    REQUIRE(report["studies"].size() == 1);
    CHECK(report["studies"][0]["points"] == 8);
    CHECK(report["studies"][0]["done"] == 3);
    CHECK(report["studies"][0]["axes"][0]["labels"] == json({"2", "3", "4", "8"}));
    CHECK(server.end(SIGTERM) == 130);
  }
  // `sweep run` finds its point, and gives what it would without a visitor.
  const Ended sweep = run_simsgd({"sweep", "run", study, "-o", database, "--jobs", "1", "--json"});
  const Ended plain = run_simsgd({"sweep", "run", study, "-o", folder.path("p.db"), "--jobs", "1", "--json"});
  CHECK(sweep.code == 0);
  CHECK(without_context(sweep.out) == without_context(plain.out));
  // The store by itself has all that it takes to go on.
  Served again({database, "--jobs", "1"});
  CHECK(again.get("/controls").json()["studies"][0]["name"] == "small");
  CHECK(again.simulated(at_workers(5))["runs"][0]["state"] == "done");
  const json report = again.get("/report").json();
  REQUIRE(report["studies"].size() == 1);
  CHECK(report["studies"][0]["axes"][0]["labels"] == json({"2", "3", "4", "5", "8"}));
  CHECK(report["studies"][0]["done"] == 9);
  CHECK(again.end(SIGINT) == 130);
  const Ended list = run_simsgd({"results", "list", database});
  CHECK(list.out.find("small: explored") != std::string::npos);
  CHECK(run_simsgd({"report", database, "--format", "csv", "--chart", "breakdown"}).code == 0);
}

TEST_CASE("the runs are those of a sweep, byte for byte") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", explored_study()), explored = folder.path("e.db"),
                    swept = folder.path("s.db");
  {
    Served server({study, "-o", explored, "--jobs", "2"});
    for (const int workers : {8, 2, 4}) (void)server.simulated(at_workers(workers, 2));
    CHECK(server.end(SIGINT) == 130);
  }
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", swept, "--jobs", "1"}).code == 0);
  const Ended a = run_simsgd({"results", "export", explored}), b = run_simsgd({"results", "export", swept});
  CHECK(a.code == 0);
  CHECK(a.out.size() > 1000);
  CHECK(a.out == b.out);
}

TEST_CASE("a store whose study is not there as it was can be looked at, and is not touched") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", explored_study()), database = folder.path("s.db");
  REQUIRE(run_simsgd({"sweep", "run", study, "-o", database, "--jobs", "1"}).code == 0);
  Json other = explored_study();
  other["stop"]["steps"] = 11;
  folder.write_json("s.json", other);
  const std::string before = contents(database);
  Served server({database});
  CHECK(server.get("/report").json()["studies"][0]["done"] == 6);
  const json controls = server.get("/controls").json();
  CHECK(controls["studies"].empty());
  CHECK(
      folder.without_folder(controls["reasons"][0]) ==
      "small is read-only, because the file of results does not contain the study and s.json now gives other points: the file was changed, or it was run with --set or by another version of SimSGD. To add points: simsgd explore STUDY -o s.db");
  CHECK(server.post("/points", at_workers(2).dump()).status == 404);
  CHECK(server.end(SIGINT) == 130);
  CHECK(contents(database) == before);
  fs::remove(study);
  Served without({database});
  CHECK(without.get("/controls").json()["reasons"][0].get<std::string>().find("s.json") != std::string::npos);
}

TEST_CASE("what one visitor can start is bounded, and Ctrl-C leaves no child and a whole store") {
  const Folder folder;
  Json slow = explored_study(100);
  slow["stop"]["steps"] = 100'000'000;  // hours
  const std::string study = folder.write_json("s.json", slow), database = folder.path("s.db");
  {
    Served server({study, "-o", database, "--jobs", "2"});
    const HttpAnswer many = server.post("/points", at_workers(2, 100).dump());
    CHECK(many.status == 429);
    CHECK(many.json()["error"] == "0 points are waiting, and at most 64 can. Try again when some have run.");
    CHECK(server.post("/points", at_workers(2, 64).dump()).status == 202);
    CHECK(server.post("/points", at_workers(2, 64).dump()).status == 202);  // the same ones
    json state = json::object();
    for (int i = 0; i < 500 && state.value("running", 0) < 2; ++i) state = server.get("/state").json();
    CHECK(state["running"] == 2);
    CHECK(state["waiting"] == 62);
    CHECK(server.post("/points", at_workers(3, 3).dump()).status == 429);
    CHECK(server.post("/drop", "{}").json()["waiting"] == 0);
    CHECK(server.get("/point?ticket=1").json()["runs"][63]["state"] == "dropped");
    CHECK(server.end(SIGINT) == 130);
    CHECK(server.said().ends_with("Interrupted.\n"));
  }
  const Ended list = run_simsgd({"results", "list", database});
  CHECK(list.code == 0);
  Served few({study, "--points", "1", "--timeout", "0.3"});
  const json late = few.simulated(at_workers(2));
  CHECK(late["runs"][0]["state"] == "failed");
  CHECK(late["runs"][0]["error"] == "The process took longer than 0.3 s.");
  const HttpAnswer more = few.post("/points", at_workers(4).dump());
  CHECK(more.status == 429);
  CHECK(more.json()["error"] ==
        "This server simulates at most 1 points (--points), and 1 are done or waiting.");
}

TEST_CASE("two servers on one store run a point once; killed while another runs, they leave a whole store") {
  const Folder folder;
  Json study = explored_study(1);
  study["stop"]["steps"] = 50'000;
  const std::string file = folder.write_json("s.json", study), database = folder.path("s.db");
  {
    Served first({file, "-o", database, "--jobs", "1"}), second({file, "-o", database, "--jobs", "1"});
    CHECK(first.post("/points", at_workers(2).dump()).status == 202);
    json state = json::object();
    for (int i = 0; i < 500 && state.value("running", 0) + state.value("simulated", 0) < 1; ++i)
      state = first.get("/state").json();
    const json run = second.simulated(at_workers(2))["runs"][0];
    CHECK(run["state"] == "done");
    CHECK(second.get("/state").json()["simulated"] == 0);
    CHECK(first.simulated(at_workers(2))["runs"][0]["metrics"] == run["metrics"]);
    CHECK(first.post("/points", at_workers(8).dump()).status == 202);
    CHECK(second.post("/points", at_workers(5).dump()).status == 202);
    CHECK(first.end(SIGKILL) == -SIGKILL);
    CHECK(second.end_all(SIGTERM) == 130);  // its child hears it too: no failure of the point
  }
  const Ended list = run_simsgd({"results", "export", database});
  CHECK(list.code == 0);
  CHECK(list.out.find("failed") == std::string::npos);
  CHECK(run_simsgd({"sweep", "run", file, "-o", database, "--set", "/stop/steps=5"}).code == 0);
}

TEST_CASE("what a scenario cannot be is said in its own words; one without axes varies its workers") {
  const Folder folder;
  Json scenario = small_scenario();
  scenario["name"] = "plain";
  scenario["stragglers"] = {{{"name", "constant"}, {"factor", 2}, {"workers", {3}}}};
  const std::string file = folder.write_json("s.json", scenario), database = folder.path("s.db");
  Served server({file, "--jobs", "1", "-o", database});
  const json range = server.get("/controls").json()["studies"][0]["controls"][0]["range"];
  CHECK(range["values"].get<std::vector<int>>() == std::vector<int>{2, 4, 8, 16, 32, 64});
  CHECK(server.simulated(at_workers(5))["runs"][0]["state"] == "done");
  CHECK(server.get("/report").json()["studies"][0]["axes"][0]["labels"] ==
        json({"2", "4", "5", "8", "16", "32", "64"}));
  const json two = server.simulated(at_workers(2))["runs"][0];
  CHECK(two["state"] == "impossible");
  CHECK(two["error"].get<std::string>().starts_with(file + ":/stragglers/0/workers/0: "));
  CHECK(two["metrics"].empty());
  CHECK(server.get("/state").json()["failed"] == 1);
  CHECK(server.simulated(at_workers(2))["runs"][0]["state"] == "impossible");  // may be asked again
  CHECK(server.end(SIGINT) == 130);
  // Nothing of it is in the store.
  const std::string exported = run_simsgd({"results", "export", database}).out;
  CHECK(exported.find("\"key\"") != std::string::npos);
  CHECK(exported.find("failed") == std::string::npos);
}

TEST_CASE("what cannot be served is said before anything is written") {
  const Folder folder;
  const std::string study = folder.write_json("s.json", explored_study()), database = folder.path("n.db");
  Served server({study});
  const Ended taken = run_simsgd({"explore", study, "-o", database, "--port", std::to_string(server.port())});
  CHECK(taken.code == 2);
  CHECK(taken.err.find("--port: cannot be opened at 127.0.0.1. Found: " + std::to_string(server.port()) +
                       ". Choose a free port, or 0 for any") != std::string::npos);
  CHECK(!fs::exists(database));
  CHECK(run_simsgd({"explore", folder.path("none.db")}).code == 2);
  CHECK(run_simsgd({"explore", folder.path("none.json")}).code == 2);
  const std::string foreign = folder.write("foreign.db", "no store");
  CHECK(run_simsgd({"explore", study, "-o", foreign}).code == 2);
  CHECK(run_simsgd({"explore", foreign}).code == 2);
  CHECK(contents(foreign) == "no store");
  CHECK(run_simsgd({"explore", database, "-o", database}).code == 2);
  CHECK(run_simsgd({"explore", study, "--memory", "much"}).code == 2);
  Json broken = explored_study();
  broken["axes"][0]["values"] = {2, -4};
  CHECK(run_simsgd({"explore", folder.write_json("b.json", broken), "-o", database}).code == 2);
  CHECK(!fs::exists(database));
  CHECK(server.end(SIGINT) == 130);
}

}  // namespace simsgd::test::live_explore
