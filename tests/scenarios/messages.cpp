// What a scenario or a study is told that cannot be run, and what becomes of one that can: as blocks of text
// in messages/*.txt. Blocks are separated by empty lines. A block is a name where it has one of its own, what
// it writes into the small scenario of these tests, and the errors, one per line:
//   /pointer = JSON        a value of the scenario
//   without /pointer       and one that is not there
//   file NAME: TEXT        a file beside the scenario, or the scenario itself, s.json; \n ends a line
//   --set /pointer=VALUE   options of the command line
//   --seed NUMBER
//   or LINE                starts another scenario, of which the same is said
// "..." at the end of an error stands for any text. A block without errors says so, or what follows from it:
//   is right
//   note ABOUT: TEXT       of the job; "no notes": no others than the small scenario has
//   becomes /pointer = JSON  in the resolved scenario, and "becomes without /pointer"
//   point LABEL            of a study: its points in order; "point N: /pointer = JSON", from 1, likewise
// The block "in all cases" holds for all blocks of its file. `check` says of each scenario what a run says.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "analysis/runs/sweep_points.hpp"
#include "scenarios/language/errors.hpp"
#include "scenarios/language/json_source.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/refusal.hpp"

namespace simsgd::test::scenarios_messages {

namespace {

using Lines = std::vector<std::string>;

std::string behind(const std::string& line, const std::string& begin) { return line.substr(begin.size()); }

/// Of "/pointer = JSON".
std::pair<Json::json_pointer, Json> value_of(const std::string& line) {
  const std::size_t equals = line.find(" = ");
  return {Json::json_pointer(line.substr(0, equals)), Json::parse(line.substr(equals + 3))};
}

Lines notes_of(const Job& job) {
  Lines all;
  for (const Note& note : job.notes) all.push_back(fmt::format("note {}: {}", note.about, note.text));
  return all;
}

/// What one block writes, and where.
class Case {
 public:
  /// False if `line` is not a line of what is written.
  bool take(const std::string& line) {
    if (line.starts_with("file ")) {
      const std::size_t colon = line.find(": ");
      const std::string name = line.substr(5, colon - 5);
      std::string text = line.substr(colon + 2);
      for (std::size_t at; (at = text.find("\\n")) != std::string::npos;) text.replace(at, 2, "\n");
      has_scenario_ = has_scenario_ || name == "s.json";
      folder_->write(name, text);
    } else if (line.starts_with("without ")) {
      const Json::json_pointer pointer(line.substr(8));
      scenario_.at(pointer.parent_pointer()).erase(pointer.back());
    } else if (line.starts_with("--set ")) {
      overrides_.set.push_back(parse_set(line.substr(6)));
    } else if (line.starts_with("--seed ")) {
      overrides_.seed = std::stoull(line.substr(7));
    } else if (line.starts_with("/")) {
      const auto [pointer, value] = value_of(line);
      scenario_[pointer] = value;
    } else {
      return false;
    }
    return true;
  }

  void check_against(const Lines& expected, bool of_study) const {
    if (!has_scenario_) folder_->write_json("s.json", scenario_);
    const std::string file = folder_->path("s.json");
    const auto said = [this](const auto& call) {
      return folder_->without_folder(refusal_of<ConfigError>(call));
    };
    if (of_study) {
      Study study;
      const std::string errors = said([&] { study = load_study(file, overrides_); });
      return errors.empty() ? check_points(study, expected) : check_errors(errors, expected);
    }
    Scenario scenario;
    Job job;
    const std::string errors = said([&] {
      scenario = load_scenario(file, overrides_);
      job = make_job(scenario);
    });
    static int cases = 0;  // `check` looks in a child, which takes a tenth of a second: in one case of four
    if (cases++ % 4 == 0 && !has_scenario_ && !scenario_.contains("axes") && !scenario_.contains("seeds")) {
      const std::string checked = said([&] { CHECK(check_file(file, overrides_, {}) == "a scenario"); });
      CHECK(checked == errors);
    }
    if (!errors.empty()) return check_errors(errors, expected);
    Lines notes = notes_of(job), expected_notes;
    static const Lines kUsual = notes_of(job_of(small_scenario()));
    std::erase_if(notes, [](const std::string& note) {
      return std::find(kUsual.begin(), kUsual.end(), note) != kUsual.end();
    });
    bool of_notes = false;
    for (const std::string& line : expected) {
      CAPTURE(line);
      if (line.starts_with("becomes without /")) {
        CHECK(!scenario.resolved.contains(Json::json_pointer(behind(line, "becomes without "))));
      } else if (line.starts_with("becomes /")) {
        const auto [pointer, value] = value_of(behind(line, "becomes "));
        CHECK(scenario.resolved.at(pointer) == value);
      } else if (line != "is right") {
        of_notes = true;
        if (line != "no notes") expected_notes.push_back(line);
      }
    }
    if (of_notes)
      CHECK(fmt::format("{}", fmt::join(notes, "\n")) == fmt::format("{}", fmt::join(expected_notes, "\n")));
  }

 private:
  static void check_points(const Study& study, const Lines& expected) {
    Lines points, expected_points;
    for (const std::string& label : labels(study)) points.push_back("point " + label);
    for (const std::string& line : expected) {
      CAPTURE(line);
      const std::size_t colon = line.find(": /");
      if (colon == std::string::npos) {
        if (line != "is right") expected_points.push_back(line);
        continue;
      }
      const auto [pointer, value] = value_of(line.substr(colon + 2));
      const StudyPoint& point = study.points.at(std::stoul(behind(line, "point ")) - 1);
      CHECK(load_point(study, point).resolved.value(pointer, Json()) == value);
    }
    if (!expected_points.empty()) CHECK(points == expected_points);
  }

  static void check_errors(const std::string& errors, const Lines& expected) {
    std::string shown;
    std::istringstream lines(errors);
    std::size_t at = 0;
    for (std::string line; std::getline(lines, line); ++at) {
      const std::string& whole = at < expected.size() ? expected[at] : "";
      const bool cut = whole.ends_with("...") && line.starts_with(whole.substr(0, whole.size() - 3));
      shown += (at > 0 ? "\n" : "") + (cut ? whole : line);
    }
    CHECK(shown == fmt::format("{}", fmt::join(expected, "\n")));
  }

  std::unique_ptr<Folder> folder_ = std::make_unique<Folder>();
  Json scenario_ = small_scenario();
  Overrides overrides_;
  bool has_scenario_ = false;
};

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

void check_block(const Lines& always, const Lines& block, bool of_study) {
  std::vector<Case> cases;
  Lines expected;
  const auto open = [&] {
    cases.emplace_back();
    for (const std::string& line : always) REQUIRE(cases.back().take(line));
  };
  open();
  for (const std::string& line : block) {
    const bool another = line.starts_with("or ");
    if (another) open();
    if (!cases.back().take(another ? line.substr(3) : line)) expected.push_back(line);
  }
  REQUIRE(!expected.empty());
  for (const Case& written : cases) written.check_against(expected, of_study);
}

}  // namespace

TEST_CASE("every message is that of its block") {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SIMSGD_SOURCE_DIR "/tests/scenarios/messages"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  REQUIRE(paths.size() == 14);
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

}  // namespace simsgd::test::scenarios_messages
