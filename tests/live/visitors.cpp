// Who is answered, and what nobody may do, by rule and at the server itself.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>

#include "analysis/faces/live/front.hpp"
#include "tests/live/served.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::live_visitors {

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
  refused("", 400, "The body is not a JSON object.");
  refused("[1]", 400, "The body is not a JSON object.");
  refused(std::string(4000, '['), 400, "The body is not a JSON object.");
  refused(R"({"at":[{"number":2}],"file":"/etc/passwd"})", 400,
          "The body may only have the keys study, at and seeds.");
  refused(R"({"study":1,"at":[{"number":2}]})", 404, "No study with this number takes new points.");
  refused(R"({"study":-1,"at":[{"number":2}]})", 404, "No study with this number takes new points.");
  refused(R"({"at":[]})", 422, "Give a value for every axis (1 in all).");
  for (const char* value :
       {R"({"number":9})", R"({"number":1.99})", R"({"number":"4"})", R"({"number":1e999})",
        R"({"choice":0})", R"({"number":4,"path":"x"})", "4", "null", R"({"number":null})"})
    if (std::string(value).find("e999") == std::string::npos)
      refused(R"({"at":[)" + std::string(value) + "]}", 422, "cluster/workers: give a number from 2 to 8.");
    else
      refused(R"({"at":[)" + std::string(value) + "]}", 400, "The body is not a JSON object.");
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

TEST_CASE("a head without end and visitors who say nothing cost the others seconds, not the server") {
  const Folder folder;
  Served server({folder.write_json("s.json", explored_study()), "--jobs", "1"});
  std::string head = "GET /state HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  for (int i = 0; i < 4000; ++i) head += "X-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n";
  CHECK(server.raw(head).status != 200);
  std::vector<int> silent;
  for (int i = 0; i < 64; ++i) silent.push_back(server.connected("G"));
  CHECK(server.get("/state").status == 200);
  for (const int each : silent) close(each);
  CHECK(server.end(SIGINT) == 130);
}

}  // namespace simsgd::test::live_visitors
