// What a scenario or a study is told that cannot be run: the full text of every message, as blocks of text in
// messages/*.txt. Blocks are separated by empty lines. A block is a name where it has one of its own, what it
// writes into the small scenario of these tests, and the errors, one per line:
//   /pointer = JSON        a value of the scenario
//   without /pointer       and one that is not there
//   file NAME: TEXT        a file beside the scenario, or the scenario itself, s.json
//   --set /pointer=VALUE   options of the command line
//   --seed NUMBER
//   or LINE                starts another scenario, of which the same is said
// "is right" stands for no error, and "..." at an error's end for any text. The block "in all cases" holds
// for all blocks of its file.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "scenarios/language/errors.hpp"
#include "scenarios/language/json_source.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::scenarios_messages {

namespace {

/// What one block writes, and where.
class Case {
 public:
  /// False if `line` is not a line of what is written.
  bool take(const std::string& line) {
    if (line.starts_with("file ")) {
      const std::size_t colon = line.find(": ");
      const std::string name = line.substr(5, colon - 5);
      has_scenario_ = has_scenario_ || name == "s.json";
      folder_->write(name, line.substr(colon + 2));
    } else if (line.starts_with("without ")) {
      const Json::json_pointer pointer(line.substr(8));
      scenario_.at(pointer.parent_pointer()).erase(pointer.back());
    } else if (line.starts_with("--set ")) {
      overrides_.set.push_back(parse_set(line.substr(6)));
    } else if (line.starts_with("--seed ")) {
      overrides_.seed = std::stoull(line.substr(7));
    } else if (line.starts_with("/")) {
      const std::size_t equals = line.find(" = ");
      scenario_[Json::json_pointer(line.substr(0, equals))] = Json::parse(line.substr(equals + 3));
    } else {
      return false;
    }
    return true;
  }

  std::string errors(bool of_study) const {
    if (!has_scenario_) folder_->write_json("s.json", scenario_);
    if (!of_study) return folder_->errors("s.json", overrides_);
    return folder_->without_folder(
        refusal_of<ConfigError>([&] { load_study(folder_->path("s.json"), overrides_); }));
  }

 private:
  std::unique_ptr<Folder> folder_ = std::make_unique<Folder>();
  Json scenario_ = small_scenario();
  Overrides overrides_;
  bool has_scenario_ = false;
};

using Lines = std::vector<std::string>;

std::vector<Lines> blocks_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Lines> blocks(1);
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) blocks.emplace_back();
    if (!line.empty() && line[0] != '#') blocks.back().push_back(line);
  }
  std::erase_if(blocks, [](const Lines& block) { return block.empty(); });
  return blocks;
}

void check_errors(const Case& written, const std::string& expected, bool of_study) {
  const std::string errors = written.errors(of_study);
  if (expected.ends_with("..."))
    CHECK(errors.substr(0, expected.size() - 3) + "..." == expected);
  else
    CHECK(errors == expected);
}

void check_block(const Lines& always, const Lines& block, bool of_study) {
  std::vector<Case> cases;
  std::string expected;
  const auto open = [&] {
    cases.emplace_back();
    for (const std::string& line : always) REQUIRE(cases.back().take(line));
  };
  open();
  for (const std::string& line : block) {
    const bool another = line.starts_with("or ");
    if (another) open();
    if (!cases.back().take(another ? line.substr(3) : line))
      expected += (expected.empty() ? "" : "\n") + line;
  }
  REQUIRE(!expected.empty());
  if (expected == "is right") expected.clear();
  for (const Case& written : cases) check_errors(written, expected, of_study);
}

}  // namespace

TEST_CASE("every message is that of its block") {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SIMSGD_SOURCE_DIR "/tests/scenarios/messages"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() == 9);
  for (const std::filesystem::path& path : paths) {
    CAPTURE(path.filename().string());
    Lines always;
    std::string name;
    for (Lines block : blocks_of(path)) {
      if (!Case().take(block[0])) {
        name = block[0];
        block.erase(block.begin());
      }
      CAPTURE(name);
      if (name == "in all cases")
        always = std::move(block);
      else
        check_block(always, block, path.stem() == "studies");
    }
  }
}

// Pointers, and where values come from.

TEST_CASE("a value comes from where its nearest known ancestor comes from") {
  Provenance origins;
  origins.replace("", {"s.json", ""});
  origins.replace("/cluster/nic", {"c.json", "/nic"});
  CHECK(origins.at("/cluster/nic/bandwidth") == Origin{"c.json", "/nic/bandwidth"});
  CHECK(origins.at("/cluster/nics") == Origin{"s.json", "/cluster/nics"});
  origins.replace("/cluster", {"--set", "/cluster"});
  CHECK(origins.at("/cluster/nic") == Origin{"--set", "/cluster/nic"});
}

TEST_CASE("pointers escape ~ and /") {
  CHECK(child("/a", "b/c~d") == "/a/b~1c~0d");
  CHECK(child("", std::size_t{3}) == "/3");
  CHECK(tokens("/a/b~1c~0d") == std::vector<std::string>{"a", "b/c~d"});
  CHECK(tokens("/a//b") == std::vector<std::string>{"a", "", "b"});
  CHECK(tokens("").empty());
  CHECK(last_key("/a/b~1c") == "b/c");
  CHECK(parent("/a/b") == "/a");
  CHECK(parent("/a") == "");
  CHECK(within("/a/b", "/a"));
  CHECK(within("/a", ""));
  CHECK(!within("/ab", "/a"));
}

// Files that cannot be read, and `use`s that lead nowhere.

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

}  // namespace simsgd::test::scenarios_messages
