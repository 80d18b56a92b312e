// The house's floors: who may include whom. A file includes its own place and lower floors, never a higher
// one nor a neighbour on its own floor.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace simsgd::test::base_arrows {

namespace {

namespace fs = std::filesystem;

// From the ground up. "a/b/": all that is in that folder; "a/*": what stands directly in it; "a/*/": each
// folder in it, a place of its own; "a/b.": the files of that name. Of several that fit, the longest counts,
// and of equal ones the highest.
const std::vector<std::vector<std::string>> kFloors = {
    {"sim/base/"},
    {"sim/plugin."},  // what a plug-in says of itself
    {"sim/distributions/"},
    {"sim/learn/", "sim/cluster/"},
    {"sim/collectives/"},
    {"sim/stacks/"},
    {"sim/*"},       // what jobs, roles and records are made of
    {"sim/roles/"},  // of a worker
    {"sim/worker."},
    {"sim/recording/"},
    {"sim/engine/"},
    {"algorithms/*", "topologies/"},
    {"algorithms/*/"},       // wings, which know nothing of one another
    {"algorithms/python/"},  // methods in Python, which may use parts of all
    {"scenarios/language/", "traces/"},
    {"results/"},
    {"analysis/statistics/"},
    {"analysis/runs/child_"},  // the pool of children, whatever they do
    {"analysis/*", "measure/"},
    {"analysis/runs/", "analysis/faces/table."},
    {"analysis/frame/"},
    {"analysis/questions/", "analysis/replay/"},
    {"analysis/calibration/", "analysis/faces/"},
    {"analysis/book/"},
    {"cli/", "bench/"},
};

// What only some may include, wherever they stand.
struct Door {
  std::string to;
  std::vector<std::string> from;
};
const std::vector<Door> kDoors = {
    {"simgrid/", {"sim/engine/"}},
    {"smpi/", {}},
    {"mpi.h", {"measure/"}},
    {"sim/engine/", {"sim/engine/", "analysis/", "bench/"}},
    {"sim/recording/",
     {"sim/", "scenarios/", "traces/", "results/", "analysis/", "measure/", "cli/", "bench/"}},
};

struct Place {
  std::string name;
  std::size_t floor = 0;
};

std::optional<Place> place_of(const std::string& path) {
  std::optional<Place> best;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (std::size_t floor = 0; floor < kFloors.size(); ++floor)
    for (std::string name : kFloors[floor]) {
      bool fits = false;
      if (name.ends_with("/*")) {
        name.pop_back();
        fits = folder == name;
      } else if (name.ends_with("/*/")) {
        name.resize(name.size() - 2);
        fits = folder.starts_with(name) && folder != name;
        if (fits) name = folder.substr(0, folder.find('/', name.size()) + 1);
      } else {
        fits = path.starts_with(name);
      }
      if (fits && (!best || name.size() >= best->name.size())) best = Place{name, floor};
    }
  return best;
}

// What is wrong with `from` including `to`; empty if nothing is.
std::string climbs(const std::string& from, const std::string& to) {
  for (const Door& door : kDoors)
    if (to.starts_with(door.to) && std::none_of(door.from.begin(), door.from.end(), [&](const auto& allowed) {
          return from.starts_with(allowed);
        }))
      return "is not for " + from.substr(0, from.rfind('/') + 1);
  const std::optional<Place> here = place_of(from), there = place_of(to);
  if (!here) return "stands in a folder that is on no floor: give it one in tests/base/arrows.cpp";
  if (!there || there->name == here->name || there->floor < here->floor) return "";
  return there->floor > here->floor ? there->name + " is above " + here->name
                                    : there->name + " is beside " + here->name;
}

struct Include {
  std::string from, to;
  bool ours = false;  // in "", not <>
};

/// Every line of the program's sources, with its file.
template <class OfLine>
void each_line(const OfLine& of_line) {
  for (const char* root : {"sim", "algorithms", "topologies", "traces", "scenarios", "results", "analysis",
                           "measure", "cli", "bench"}) {
    const fs::path source = SIMSGD_SOURCE_DIR;
    if (!fs::exists(source / root)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source / root)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".hpp") continue;
      std::ifstream file(entry.path());
      const std::string name = entry.path().lexically_relative(source).generic_string();
      for (std::string line; std::getline(file, line);) of_line(name, line);
    }
  }
}

std::vector<Include> all_includes() {
  static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  each_line([&](const std::string& from, const std::string& line) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) includes.push_back({from, match[2], match[1] == "\""});
  });
  return includes;
}

}  // namespace

TEST_CASE("what climbs: up a floor, to a neighbour, through a door that is not one's own") {
  CHECK(climbs("sim/learn/values.cpp", "sim/base/check.hpp").empty());
  CHECK(climbs("sim/base/units.hpp", "sim/learn/tensor.hpp") == "sim/learn/ is above sim/base/");
  CHECK(climbs("sim/learn/values.cpp", "sim/cluster/cluster.hpp") == "sim/cluster/ is beside sim/learn/");
  CHECK(climbs("sim/collectives/plan.hpp", "sim/job.hpp") == "sim/ is above sim/collectives/");
  CHECK(climbs("sim/learn/data/registry.hpp", "sim/plugin.hpp").empty());
  CHECK(climbs("algorithms/gossip/sgp.cpp", "algorithms/gossip/push_sum.hpp").empty());
  CHECK(climbs("algorithms/gossip/sgp.cpp", "algorithms/mixing.hpp").empty());
  CHECK(climbs("algorithms/gossip/sgp.cpp", "algorithms/kfac/kfac.hpp") ==
        "algorithms/kfac/ is beside algorithms/gossip/");
  CHECK(climbs("algorithms/mixing.cpp", "algorithms/kfac/kfac.hpp") ==
        "algorithms/kfac/ is above algorithms/");
  CHECK(climbs("algorithms/mixing.cpp", "simgrid/s4u.hpp") == "is not for algorithms/");
  CHECK(climbs("algorithms/mixing.cpp", "mpi.h") == "is not for algorithms/");
  CHECK(climbs("algorithms/mixing.cpp", "measure/mpi_worker.hpp") == "measure/ is above algorithms/");
  CHECK(climbs("measure/main.cpp", "results/document.hpp").empty());
  CHECK(climbs("measure/main.cpp", "sim/engine/simulate.hpp") == "is not for measure/");
  CHECK(climbs("measure/main.cpp", "analysis/runner.hpp") == "analysis/ is beside measure/");
  CHECK(climbs("analysis/runner.cpp", "cli/verbs.hpp") == "cli/ is above analysis/");
  CHECK(climbs("analysis/runner.cpp", "analysis/calibration/straggler_fit.hpp") ==
        "analysis/calibration/ is above analysis/");
  CHECK(climbs("analysis/runner.cpp", "analysis/runs/child_pool.hpp").empty());
  CHECK(climbs("analysis/runner.cpp", "analysis/runs/store.hpp") == "analysis/runs/ is above analysis/");
  CHECK(climbs("analysis/runs/store.cpp", "analysis/frame/frame.hpp") ==
        "analysis/frame/ is above analysis/runs/");
  CHECK(climbs("analysis/questions/tables.cpp", "analysis/replay/replay.hpp") ==
        "analysis/replay/ is beside analysis/questions/");
  CHECK(climbs("analysis/questions/tables.cpp", "analysis/faces/table.hpp").empty());
  CHECK(climbs("analysis/questions/tables.cpp", "analysis/faces/vega.hpp") ==
        "analysis/faces/ is above analysis/questions/");
  CHECK(climbs("cli/run.cpp", "nlohmann/json.hpp").empty());
}

TEST_CASE("files that comments name by their folder are there") {
  static const std::regex kComment("//.*"),
      kFile(
          R"((^|[^\w./-])((sim|algorithms|topologies|traces|scenarios|results|analysis|measure|cli|tests|docs|bench|python)(/[\w.-]+)*/[\w-]+\.(cpp|hpp|md|py|sh)))");
  int named = 0;
  each_line([&](const std::string& from, const std::string& line) {
    std::smatch comment;
    if (!std::regex_search(line, comment, kComment)) return;
    const std::string text = comment.str();
    for (std::sregex_iterator each(text.begin(), text.end(), kFile), end; each != end; ++each, ++named)
      CHECK_MESSAGE(fs::exists(fs::path(SIMSGD_SOURCE_DIR) / (*each)[2].str()),
                    from << " names " << (*each)[2].str());
  });
  CHECK(named > 100);
}

TEST_CASE("no include climbs") {
  const std::vector<Include> includes = all_includes();
  CHECK(includes.size() > 1000);
  for (const Include& include : includes) {
    CAPTURE(include.from);
    CAPTURE(include.to);
    const bool from_the_root = !include.ours || include.to.find('/') != std::string::npos;
    CHECK_MESSAGE(from_the_root, "our headers are named from the root");
    CHECK(climbs(include.from, include.to) == "");
  }
}

}  // namespace simsgd::test::base_arrows
