// The full text of every message about an impossible straggler, distribution or trace: rejections.txt. Empty
// lines separate blocks; behind the name of a block come pairs of lines: "KIND WHAT" and what is said of it.
// KIND is straggler, trace (a file, in which \n is a line's end), or the unit of a distribution.
#include <doctest/doctest.h>

#include "tests/cluster/support.hpp"

namespace simsgd::test::cluster_rejections {

namespace {

std::string answer(const std::string& kind, std::string what) {
  if (kind == "straggler") return rejection([&] { stragglers(what, 8); });
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
      CHECK(answer(line.substr(0, blank), line.substr(blank + 1)) == expected);
      ++pairs;
    }
  }
  CHECK(pairs >= 104);
}

}  // namespace simsgd::test::cluster_rejections
