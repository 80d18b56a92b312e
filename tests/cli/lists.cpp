// `simsgd bench` and `simsgd list`.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_lists {

using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;

TEST_CASE("bench prints nccl-tests' table: rows that a parser of its columns understands") {
  const Scratch scratch;
  const Outcome outcome =
      scratch.simsgd("bench all_reduce -b 8 -e 1G -f 2 --cluster clusters/infiniband-100g.json --workers 16");
  REQUIRE(outcome.code == 0);
  std::istringstream lines(outcome.out);
  std::string line;
  int rows = 0;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    double size = 0, count = 0, time = 0, algbw = 0, busbw = 0;
    std::string type, redop, root;
    row >> size >> count >> type >> redop >> root >> time >> algbw >> busbw;
    CHECK(count == size / 4);
    CHECK(type == "float");
    CHECK(redop == "sum");
    CHECK(root == "-1");
    CHECK(std::fabs(algbw - size / time / 1e3) < 0.01 + 1e-3 * algbw);
    CHECK(std::fabs(busbw - algbw * 2 * 15 / 16) < 0.02);  // both are rounded to 0.01
    ++rows;
  }
  CHECK(rows == 28);  // 8 B ... 1 GiB
  CHECK(outcome.out.find("# Avg bus bandwidth") != std::string::npos);
}

TEST_CASE("bench notes the host costs that a cluster does not know, in its table and its JSON") {
  const Scratch scratch;
  const std::string options =
      "bench all_reduce -b 1M -e 1M --workers 4 --cluster clusters/infiniband-100g.json";
  CHECK(scratch.simsgd(options).out.find("hosts' work") == std::string::npos);
  scratch.write(
      "c.json",
      R"({"name": "C", "nic": {"bandwidth": "1 GB/s", "latency": "10 us"}, "topology": {"name": "star"},
    "device": {"name": "D", "peak_flops": "1 TFLOPS", "memory": "1 GB"}})");
  const Outcome table = scratch.simsgd("bench all_reduce -b 1M -e 1M --workers 4 --cluster c.json");
  CAPTURE(table.err);
  const std::string note =
      "the hosts' work in communication takes no time as far as it is unknown: cluster C has no ";
  CHECK(table.out.find("\n# Note: " + note) != std::string::npos);
  const Outcome json = scratch.simsgd("bench all_reduce -b 1M -e 1M --workers 4 --cluster c.json --json");
  CHECK(Json::parse(json.out)["config"]["notes"][0].get<std::string>().starts_with(note));
  CHECK(scratch.simsgd("bench all_reduce -b 1M -e 1M --workers 1 --cluster c.json").out.find("Note") ==
        std::string::npos);
}

}  // namespace simsgd::test::cli_lists
