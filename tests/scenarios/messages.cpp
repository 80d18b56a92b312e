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

}  // namespace simsgd::test::scenarios_messages
