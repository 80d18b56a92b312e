// The verb `explore` as a visitor, and an attacker, meets it.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analysis/live/http_rules.hpp"
#include "tests/analysis/support.hpp"
#include "tests/live/served.hpp"

namespace simsgd::test::live_explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Workers 2, 4 and 8; each seed straggles differently.
Json explored_study(const Json& seeds = 2) {
  Json study = small_study({2, 4, 8});
  study["stragglers"] = {{{"name", "exponential"}, {"mean", "1 ms"}}};
  study["seeds"] = seeds;
  return study;
}

json at_workers(double workers, int seeds = 1) { return {{"at", {{{"number", workers}}}}, {"seeds", seeds}}; }

}  // namespace

TEST_CASE("who is answered: Host, Origin, method, length, type") {
  using live::refusal;
  const live::RequestHead get{"GET", {"127.0.0.1:8080"}, {}, "", false, false};
  const auto status = [](const live::RequestHead& head, int port = 8080) {
    const auto refused = refusal(head, port);
    return refused ? refused->status : 200;
  };
  CHECK(status(get) == 200);
  for (const char* host :
       {"", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:80800", "evil.example:8080", "0.0.0.0:8080",
        "127.0.0.1.evil.example:8080", "localhost.:8080", "user@localhost:8080", "[::1]:8080",
        " localhost:8080", "localhost:8080, evil.example"}) {
    CAPTURE(host);
    live::RequestHead head = get;
    head.hosts = {host};
    CHECK(status(head) == 403);
  }
  live::RequestHead head = get;
  head.hosts = {"LocalHost:8080"};
  CHECK(status(head) == 200);
  head.hosts = {"localhost"};
  CHECK(status(head) == 403);
  CHECK(status(head, 80) == 200);  // browsers leave out the usual port
  head.hosts = {};
  CHECK(status(head) == 403);
  head.hosts = {"localhost:8080", "evil.example"};
  CHECK(status(head) == 403);
  for (const char* origin :
       {"null", "", "http://evil.example", "https://localhost:8080", "http://localhost:80801",
        "http://localhost", "http://localhost:8080.evil.example"}) {
    CAPTURE(origin);
    head = get;
    head.origins = {origin};
    CHECK(status(head) == 403);
  }
  head = get;
  head.origins = {"http://127.0.0.1:8080"};
  CHECK(status(head) == 200);
  live::RequestHead post{"POST", {"localhost:8080"}, {"http://localhost:8080"}, "application/json", true,
                         false};
  CHECK(status(post) == 200);
  post.is_chunked = true;
  CHECK(status(post) == 411);
  post.is_chunked = post.has_length = false;
  CHECK(status(post) == 411);
  post.has_length = true;
  post.content_type = "text/plain";  // what a form of another site can send
  CHECK(status(post) == 415);
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    head = get;
    head.method = method;
    CHECK(status(head) == 405);
  }
}

TEST_CASE("what a visitor may not do") {
  const Folder folder;
  Served server({folder.write_json("s.json", explored_study()), "--jobs", "1"});
  const std::string port = std::to_string(server.port());
  CHECK(server.said().find("no charts: Vega") != std::string::npos);
  // The loopback is more than 127.0.0.1; nobody listens anywhere else.
  CHECK(server.raw("GET / HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n", "127.0.0.2").status == 0);
  const HttpAnswer page = server.get("/");
  CHECK(page.status == 200);
  for (const char* header : {"X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
                             "Cache-Control: no-store", "Cross-Origin-Resource-Policy: same-origin"})
    CHECK(page.head.find(header) != std::string::npos);
  CHECK(page.head.find("Access-Control") == std::string::npos);
  CHECK(page.body.find("default-src 'none';") != std::string::npos);
  CHECK(page.body.find("connect-src 'self'\">") != std::string::npos);
  CHECK(page.body.ends_with("</html>\n"));

  CHECK(server.raw("GET / HTTP/1.1\r\nHost: rebound.example:" + port + "\r\n\r\n").status == 403);
  CHECK(server.raw("GET / HTTP/1.0\r\n\r\n").status == 403);
  CHECK(server.get("/state", "Host: evil.example\r\n").status == 403);
  CHECK(server.get("/report", "Origin: http://evil.example\r\n").status == 403);
  CHECK(server.get("/report", "Origin: null\r\n").status == 403);
  for (const char* path : {"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "//etc/passwd",
                           "/s.json", "/points", "/page", "/state/..", "/point/../report"}) {
    CAPTURE(path);
    CHECK(server.get(path).status == 404);
  }
  CHECK(server.raw("DELETE / HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n").status == 405);
  CHECK(server.post("/points", std::string(live::kMostBody + 1, ' ')).status == 413);
  CHECK(server
            .raw("POST /points HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                 "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n")
            .status == 411);
  // What follows a body that was refused is not read as a request.
  const HttpAnswer once = server.raw(
      "POST / HTTP/1.1\r\nHost: evil\r\nContent-Length: 60\r\n\r\nGET /state HTTP/1.1\r\nHost: 127.0.0.1:" +
      port + "\r\n\r\n");
  CHECK(once.status == 403);
  CHECK(once.body.find("HTTP/1.1 200") == std::string::npos);

  const auto refused = [&](const std::string& body, int status, const std::string& why) {
    CAPTURE(body);
    const HttpAnswer answer = server.post("/points", body);
    CHECK(answer.status == status);
    CHECK(answer.json()["error"] == why);
  };
  refused("", 400, "The body is no JSON object.");
  refused("[1]", 400, "The body is no JSON object.");
  refused(std::string(4000, '['), 400, "The body is no JSON object.");
  refused(R"({"at":[{"number":2}],"file":"/etc/passwd"})", 400,
          "The body has a key that is none of study, at and seeds.");
  refused(R"({"study":1,"at":[{"number":2}]})", 404, "There is no such study that points can be added to.");
  refused(R"({"study":-1,"at":[{"number":2}]})", 404, "There is no such study that points can be added to.");
  refused(R"({"at":[]})", 422, "Give a value of each of the 1 axes.");
  for (const char* value :
       {R"({"number":9})", R"({"number":1.99})", R"({"number":"4"})", R"({"number":1e999})",
        R"({"choice":0})", R"({"number":4,"path":"x"})", "4", "null", R"({"number":null})"})
    if (std::string(value).find("e999") == std::string::npos)
      refused(R"({"at":[)" + std::string(value) + "]}", 422, "cluster/workers: give a number from 2 to 8.");
    else
      refused(R"({"at":[)" + std::string(value) + "]}", 400, "The body is no JSON object.");
  refused(R"({"at":[{"number":2.5}]})", 422, "cluster/workers: give a whole number from 2 to 8.");
  for (const char* seeds : {"0", "3", "-1", "1.5", "\"1\"", "null"})
    refused(R"({"at":[{"number":2}],"seeds":)" + std::string(seeds) + "}", 422,
            "seeds: give a whole number from 1 to 2.");
  for (const char* ticket : {"1", "", "0", "-1", "1e3", "99999999999999999999", "../1"})
    CHECK(server.get("/point?ticket=" + std::string(ticket)).status == 404);
  CHECK(server.get("/point").status == 404);
  CHECK(server.get("/state").json()["simulated"] == 0);
  CHECK(server.end(SIGINT) == 130);
}

TEST_CASE(
    "a point off the study's grid is simulated as `run` does it, stays in the store, and stands among the "
    "others") {
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
  const std::string before = content(database);
  Served server({database});
  CHECK(server.get("/report").json()["studies"][0]["done"] == 6);
  const json controls = server.get("/controls").json();
  CHECK(controls["studies"].empty());
  CHECK(folder.without_folder(controls["reasons"][0]) ==
        "small can only be looked at, since the store has no text of studies and s.json has other points "
        "now: it was "
        "changed, or run with --set or by another version of SimSGD. To add points: simsgd explore STUDY -o "
        "s.db");
  CHECK(server.post("/points", at_workers(2).dump()).status == 404);
  CHECK(server.end(SIGINT) == 130);
  CHECK(content(database) == before);
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
    CHECK(many.json()["error"] == "0 points wait, and 64 at most may. Ask again when some have run.");
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
        "This server simulates 1 points in all (--points), and 1 are done or asked for.");
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
  CHECK(taken.err.find("--port: cannot be listened on at 127.0.0.1. Found: " + std::to_string(server.port()) +
                       ". Name a port that is free, or 0 for any") != std::string::npos);
  CHECK(!fs::exists(database));
  CHECK(run_simsgd({"explore", folder.path("none.db")}).code == 2);
  CHECK(run_simsgd({"explore", folder.path("none.json")}).code == 2);
  const std::string foreign = folder.write("foreign.db", "no store");
  CHECK(run_simsgd({"explore", study, "-o", foreign}).code == 2);
  CHECK(run_simsgd({"explore", foreign}).code == 2);
  CHECK(content(foreign) == "no store");
  CHECK(run_simsgd({"explore", database, "-o", database}).code == 2);
  CHECK(run_simsgd({"explore", study, "--memory", "much"}).code == 2);
  Json broken = explored_study();
  broken["axes"][0]["values"] = {2, -4};
  CHECK(run_simsgd({"explore", folder.write_json("b.json", broken), "-o", database}).code == 2);
  CHECK(!fs::exists(database));
  CHECK(server.end(SIGINT) == 130);
}

}  // namespace simsgd::test::live_explore
