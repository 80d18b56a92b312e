// Files that cannot be read, and `use`s that lead nowhere.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "scenarios/language/json_source.hpp"
#include "tests/scenarios/support.hpp"

namespace simsgd::test::scenarios_unreadable_files {

namespace {

std::string error_of(const std::string& text) {
  const Folder folder;
  folder.write("s.json", text);
  return folder.errors("s.json");
}

/// Errors without the list of places that were looked at, which depends on the current directory.
std::string without_places(const std::string& errors) { return errors.substr(0, errors.find(" Looked for")); }

}  // namespace

TEST_CASE("a truncated file says where it ends and what was expected") {
  CHECK(
      error_of("{\n  \"seed\": [1, 2") ==
      "s.json: is not valid JSON, line 2, column 16: unexpected end of input; expected ']'. The file ends too early: close every brace, bracket and quotation mark.");
  CHECK(
      error_of("") ==
      "s.json: is not valid JSON, line 1, column 1: unexpected end of input; expected '[', '{', or a literal. The file ends too early: close every brace, bracket and quotation mark.");
}

TEST_CASE("brackets without end and numbers without limit") {
  CHECK(error_of(std::string(100000, '[')) ==
        "s.json: is nested deeper than 100 levels. Check its brackets and braces.");
  CHECK(
      error_of("{\"seed\": 1e400}") ==
      "s.json: holds a number that is too large, number overflow parsing '1e400'. Write numbers below 1.8e308.");
}

TEST_CASE("comments are allowed") {
  CHECK(parse_json("// first\n{\"a\": 1 /* here */} // last", "f") == Json{{"a", 1}});
}

TEST_CASE("a scenario that does not exist") {
  const Folder folder;
  folder.write_json("quickstart.json", small_scenario());
  CHECK(without_places(folder.errors("quikstart.json")) ==
        "quikstart.json: does not exist. Did you mean \"quickstart.json\"?");
}

TEST_CASE("a directory is not a scenario") {
  const Folder folder;
  JsonFiles files;
  CHECK_THROWS_WITH(files.read(folder.path("")),
                    (folder.path("") + ": is a directory. Name a JSON file in it.").c_str());
  CHECK_THROWS_WITH(
      files.read(folder.path("none.json")),
      (folder.path("none.json") + ": cannot be read. Check that it exists and may be read.").c_str());
}

TEST_CASE("a used file that does not exist: the nearest name, or those that are there") {
  const Folder folder;
  folder.write_json("clusters/ethernet-1g.json", Json::object());
  Json scenario = small_scenario();
  folder.write("d.json", R"({"name": "D"})");
  scenario["cluster"] = {
      {"use", "clusters/ethrnet-1g.json"}, {"workers", 4}, {"device", {{"use", "d.json"}}}};
  folder.write_json("s.json", scenario);
  CHECK(
      without_places(folder.errors("s.json")) ==
      "s.json:/cluster/use: names a file that does not exist. Found: \"clusters/ethrnet-1g.json\". Did you mean \"clusters/ethernet-1g.json\"?");
  CHECK(folder.errors("s.json").find(" Looked for clusters/ethrnet-1g.json, ") != std::string::npos);
  scenario["cluster"]["use"] = "clusters/token-ring.json";
  folder.write_json("s.json", scenario);
  CHECK(
      without_places(folder.errors("s.json")) ==
      "s.json:/cluster/use: names a file that does not exist. Found: \"clusters/token-ring.json\". There is ethernet-1g.json.");
}

TEST_CASE("errors name the file in which the value was written") {
  const Folder folder;
  folder.write("clusters/c.json",
               R"({"name": "c", "device": {"use": "devices/d.json"}, "nic": {"bandwith": "1 GB/s",
    "bandwidth": "1 GB"}, "topology": {"name": "star"}, "workers": 1})");
  folder.write("devices/d.json", R"({"name": "d", "memory": "16 s", "peak_flops": 1e12})");
  Json scenario = small_scenario();
  scenario["cluster"] = {{"use", "clusters/c.json"}, {"workers", -4}, {"nic", {{"count", 0}}}};
  folder.write_json("s.json", scenario);
  // devices/d.json lies beside clusters/, above the file that names it, so it is found only below
  // "scenarios".
  const Folder other;
  for (const char* name : {"clusters/c.json", "devices/d.json", "s.json"})
    std::filesystem::create_directories(
        std::filesystem::path(other.path("scenarios/" + std::string(name))).parent_path());
  for (const char* name : {"clusters/c.json", "devices/d.json", "s.json"})
    std::filesystem::copy_file(folder.path(name), other.path("scenarios/" + std::string(name)));
  CHECK(
      other.errors("scenarios/s.json") ==
      "scenarios/devices/d.json:/memory: has the unit \"s\", which is not a unit of bytes. Found: \"16 s\". Write \"16 GB\" or 16e9 (bytes).\n"
      "scenarios/clusters/c.json:/nic/bandwidth: has the unit \"GB\", which is not a unit of bandwidth. Found: \"1 GB\". Write \"10 Gbps\", \"1.25 GB/s\" or 1.25e9 (bytes per second).\n"
      "scenarios/s.json:/cluster/nic/count: is out of range. Found: 0. Write a whole number of at least 1.\n"
      "scenarios/clusters/c.json:/nic/bandwith: is an unknown key. Found: \"1 GB/s\". Did you mean \"bandwidth\"? Valid keys here: bandwidth, burst, count, goodput, latency, segments, shaper_loss.\n"
      "scenarios/s.json:/cluster/workers: is out of range. Found: -4. Write a whole number of at least 1.");
}

}  // namespace simsgd::test::scenarios_unreadable_files
