// What comes out of a run must not depend on who ran it.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace simsgd::test::results_boundary {

namespace fs = std::filesystem;

namespace {

// Lines of the folder's sources that include what the expression matches.
std::vector<std::string> includes(const std::string& folder, const std::string& what) {
  const std::regex include(R"(#\s*include\s*")" + what);
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(SIMSGD_SOURCE_DIR "/" + folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".cpp" && extension != ".hpp") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (std::regex_search(line, include)) found.push_back(entry.path().filename().string() + ": " + line);
  }
  return found;
}

}  // namespace

TEST_CASE("results/ includes neither the engine nor anything above it") {
  CHECK(includes("results", "(sim/engine|analysis|cli|measure|bench)/") == std::vector<std::string>{});
  CHECK(includes("results", "results/").size() > 10);
}

TEST_CASE("sim/ and scenarios/ do not know what becomes of a record") {
  for (const char* folder : {"sim", "scenarios"})
    CHECK(includes(folder, "(results|analysis|cli|measure|bench)/") == std::vector<std::string>{});
}

TEST_CASE("a real run includes neither the engine nor analysis/") {
  CHECK(includes("measure", "(sim/engine|analysis|cli|bench)/") == std::vector<std::string>{});
}

}  // namespace simsgd::test::results_boundary
