// README and the pages: short enough, and every link leads to a file that is there.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace simsgd::test::cli_pages {

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("README is read in a minute: 120 lines at most") {
  const std::string text = contents(SIMSGD_SOURCE_DIR "/README.md");
  CHECK(std::count(text.begin(), text.end(), '\n') > 40);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 120);
}

TEST_CASE("links of README and the pages lead to files that are there") {
  std::vector<fs::path> pages = {SIMSGD_SOURCE_DIR "/README.md", SIMSGD_SOURCE_DIR "/CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(SIMSGD_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  // A name with a dot or a slash: not a lambda of the code that a page shows.
  const std::regex link(R"(\]\(([^)#\s]*[./][^)#\s]*)(#[^)\s]*)?\))");
  int links = 0;
  for (const fs::path& page : pages) {
    const std::string text = contents(page);
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found) {
      const std::string target = (*found)[1];
      if (target.find("://") != std::string::npos) continue;
      CAPTURE(page.string());
      CAPTURE(target);
      CHECK(fs::exists(page.parent_path() / target));
      ++links;
    }
  }
  CHECK(links > 100);
}

}  // namespace simsgd::test::cli_pages
