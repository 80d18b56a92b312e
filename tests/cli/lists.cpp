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

TEST_CASE("list names the kinds, and an unknown one is answered with the nearest") {
  const Scratch scratch;
  CHECK(scratch.simsgd("list").out.find("algorithms") != std::string::npos);
  CHECK(scratch.simsgd("list algorithms").out.find("local_sgd") != std::string::npos);
  CHECK(scratch.simsgd("list algorithms local_sgd").out.find("arXiv:1805.09767") != std::string::npos);
  const Outcome wrong = scratch.simsgd("list algorithmz");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("Did you mean algorithms?") != std::string::npos);
}

TEST_CASE("list graphs tells a graph's edges, matchings and spectral gap, and draws it") {
  const Scratch scratch;
  CHECK(scratch.simsgd("list graphs").out.find("hypercube") != std::string::npos);
  // 8 workers, a third each: rho = (1 + 2 cos(pi / 4)) / 3 = 0.80474.
  CHECK(scratch.simsgd("list graphs ring --workers 8").out ==
        "ring\n  every worker with the one before and the one after it\n"
        "  With 8 workers: 8 edges, degree 2, 2 matchings\n"
        "    Spectral gap with Metropolis weights: 0.195262\n"
        "    Laplacian eigenvalues: second 0.585786, last 4\n"
        "    Spectral gap of I - alpha L with the best alpha, 0.43613: 0.255479\n");
  const Json torus = Json::parse(scratch.simsgd("list graphs torus --workers 12 --set /rows=2 --json").out);
  CHECK(torus[0]["graph"]["edges"] == 18);
  CHECK(torus[0]["graph"]["degree_max"] == 3);
  CHECK(scratch.simsgd("list graphs hypercube --workers 2 --dot").out ==
        "graph \"hypercube\" {\n  layout=circo;\n  node [shape=circle];\n  0;\n  1;\n"
        "  0 -- 1 [color=\"0.000 0.8 0.7\", matching=0];\n}\n");
  // 8 GPUs are 2 nodes of 4.
  CHECK(
      scratch.simsgd("list topologies star --dot --cluster clusters/infiniband-100g.json --workers 8").out ==
      "graph \"star\" {\n  node [shape=circle];\n  node0 [type=host, shape=box];\n  node1 [type=host, shape=box];\n"
      "  switch0 [type=switch];\n"
      "  node0 -- switch0 [bandwidth=\"12000000000 B/s\", latency=\"7.5e-07 s\", tooltip=\"node0.nic0.up\"];\n"
      "  node1 -- switch0 [bandwidth=\"12000000000 B/s\", latency=\"7.5e-07 s\", tooltip=\"node1.nic0.up\"];\n}\n");
  scratch.write("path.dot", "graph { 0 -- 1; 1 -- 2 }");
  CHECK(scratch.simsgd("list graphs file --workers 3 --set /path=path.dot").out.find("2 edges") !=
        std::string::npos);
}

TEST_CASE("list graphs: what cannot be is answered with exit code 2 and the remedy") {
  const Scratch scratch;
  const auto refused = [&](const std::string& arguments) {
    const Outcome outcome = scratch.simsgd("list " + arguments);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(
      refused("graphs hypercube --workers 12") ==
      "graph of 12 workers:/name: needs a number of workers that is a power of two, not 12. Found: hypercube. Use 8 or 16 workers, or the graph exponential.\n");
  CHECK(
      refused("graphs --dot") ==
      "--dot: is about one logical graph or topology. Found: graphs. Write list graphs NAME --dot, or list topologies NAME --dot.\n");
  CHECK(
      refused("topologies torus --dot --set /dimensions=[2]") ==
      "network of 16 nodes:/dimensions: make 2 routers with 1 node each, too few for 16 nodes. Found: torus. Give larger ones, or more nodes_per_router.\n");
  CHECK(refused("topologies torus --dot --set /dimension=4")
            .starts_with("--set: sets no parameter of the topology"));
  CHECK(refused("topologies dot --dot") ==
        "--set: is missing for the topology \"dot\". Write --set /path=VALUE.\n");
  CHECK(refused("topologies torus --dot --cluster clusters/ethernet-1g.json --workers 2") ==
        "NAME: is not the topology of clusters/ethernet-1g.json. Found: torus. Write star.\n");
  CHECK(
      refused("topologies --cluster clusters/ethernet-1g.json") ==
      "--cluster: is about the drawing of a topology. Found: topologies. Write list topologies NAME --dot --cluster FILE.\n");
  CHECK(
      refused("graphs torus --set /row=4") ==
      "--set: sets no parameter of the graph \"torus\". Found: /row=4. Write /key=value, where the key is rows.\n");
  CHECK(refused("graphs file --workers 4") ==
        "--set: is missing for the graph \"file\". Write --set /path=VALUE.\n");
  CHECK(
      refused("graphs torus --set /rows=a") ==
      "graph of 16 workers:/rows: is not a whole number. Found: torus. Give a whole number of at least 2.\n");
  CHECK(refused("graphs rng").find("Did you mean ring?") != std::string::npos);
}

}  // namespace simsgd::test::cli_lists
