// The full text of every message about an impossible straggler, distribution, trace or network:
// rejections.txt. Empty lines separate blocks; behind the name of a block come pairs of lines: "KIND WHAT"
// and what is said of it. KIND is straggler (of 8 workers, or straggler_of_2), trace (a file, in which \n is
// a line's end), the unit of a distribution, or so many nodes, such as 64_nodes, or 4_railed_nodes of four
// GPUs and two NICs.
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"
#include "tests/topologies/graph.hpp"

namespace simsgd::test::cluster_rejections {

namespace {

std::string answer(const std::string& kind, std::string what) {
  if (kind.starts_with("straggler")) return rejection([&] { stragglers(what, kind.ends_with("2") ? 2 : 8); });
  if (kind.ends_with("_nodes")) {
    const int nodes = std::stoi(kind);
    const Json options = Json::parse(what);
    return error_of(options["name"],
                    kind.ends_with("_railed_nodes") ? railed_nodes(nodes) : plain_nodes(nodes), options);
  }
  if (kind == "trace") {
    for (std::size_t at = 0; (at = what.find("\\n", at)) != std::string::npos;) what.replace(at, 2, "\n");
    const Json trace = {{"name", "trace"}, {"file", file_with("rejected.csv", what)}};
    return rejection([&] { stragglers(trace.dump(), 2); });
  }
  const DrawUnit unit = kind == "seconds"  ? DrawUnit::seconds
                        : kind == "factor" ? DrawUnit::factor
                                           : DrawUnit::relative;
  return rejection([&] { distribution(what, unit); });
}

}  // namespace

TEST_CASE("what is impossible is refused, with what was written and what would be right") {
  std::ifstream file(SIMSGD_SOURCE_DIR "/tests/cluster/rejections.txt");
  std::string name, line;
  std::size_t pairs = 0;
  for (bool begins = true; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') {
      begins = true;
    } else if (std::exchange(begins, false)) {
      name = line;
    } else {
      const std::size_t blank = line.find(' ');
      CAPTURE(name);
      CAPTURE(line);
      std::string expected;
      REQUIRE(std::getline(file, expected));
      const std::string said = answer(line.substr(0, blank), line.substr(blank + 1));
      CHECK((said.empty() ? "is right" : said) == expected);
      ++pairs;
    }
  }
  CHECK(pairs >= 154);
}

}  // namespace simsgd::test::cluster_rejections
