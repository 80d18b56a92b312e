// The program as its users meet it: verbs, exit codes, what goes to which stream, and the same bytes every
// time.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_command_line {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;
using cli::without_context;

TEST_CASE("run --json prints one document on stdout and nothing else") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome outcome = scratch.simsgd("run s.json --json");
  CHECK(outcome.code == 0);
  CHECK(outcome.err == "");
  const Json document = Json::parse(outcome.out);
  for (const char* key : {"schema_version", "context", "scenario", "metrics", "workers", "links", "series"})
    CHECK(document.contains(key));
  CHECK(document["workers"].size() == 4);
  CHECK(document["metrics"]["test_accuracy_final"].get<double>() > 0.5);
}

TEST_CASE("two runs, and runs with 1 and 2 threads, give the same bytes without context") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string first = without_context(scratch.simsgd("run s.json --json --threads 1").out).dump();
  CHECK(without_context(scratch.simsgd("run s.json --json --threads 1").out).dump() == first);
  CHECK(without_context(scratch.simsgd("run s.json --json --threads 2").out).dump() == first);
  CHECK(without_context(scratch.simsgd("run - --json --threads 2 < s.json").out).dump() == first);
  CHECK(without_context(scratch.simsgd("run s.json --json --seed 2").out).dump() != first);
}

TEST_CASE("the breakdown of each worker and of the mean step sums to its time") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Json document = Json::parse(scratch.simsgd("run s.json --json").out);
  double sum = 0;
  for (const char* part : {"compute_s", "straggle_s", "selection_s", "factor_s", "inverse_s", "host_s",
                           "communication_exposed_s", "wait_s"})
    sum += document["metrics"][part].get<double>();
  CHECK(sum == doctest::Approx(document["metrics"]["iteration_time_mean_s"].get<double>()).epsilon(1e-12));
}

TEST_CASE("-o writes the document, the curves and a timeline that is JSON, within its bound") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome outcome = scratch.simsgd("run s.json -o out --set /record/timeline_events=200");
  CHECK(outcome.code == 0);
  CHECK(contents(scratch.path() / "out/loss.csv").starts_with("step,time_s,train_loss\r\n1,"));
  CHECK(contents(scratch.path() / "out/accuracy.csv").starts_with("step,time_s,test_loss,"));
  CHECK(Json::parse(contents(scratch.path() / "out/result.json")).contains("metrics"));
  const Json timeline = Json::parse(contents(scratch.path() / "out/timeline.json"));
  int spans = 0;
  for (const Json& event : timeline["traceEvents"]) spans += event["ph"] == "X" ? 1 : 0;
  CHECK(spans > 20);
  CHECK(spans <= 200);
  const Json rank1 = Json::parse(contents(scratch.path() / "out/kineto/rank1.json"));
  CHECK(rank1["distributedInfo"]["rank"] == 1);
  CHECK(rank1["distributedInfo"]["world_size"] == 4);
  for (const Json& event : rank1["traceEvents"]) CHECK(event["pid"] == 1);
}

TEST_CASE("in a timeline, an arrow leads from who came last to who waited") {
  const Scratch scratch;
  Json scenario = Json::parse(kScenario);
  scenario["learner"] = nullptr;
  scenario["cluster"] = {{"use", "clusters/infiniband-100g.json"}, {"workers", 2}, {"gpus_per_node", 1}};
  scenario["workload"] = {{"use", "workloads/resnet50.json"}, {"batch", 64}};
  scenario["algorithm"] = {{"name", "allreduce_sgd"}};
  scenario["stragglers"] = {{{"name", "constant"}, {"delay", "50 ms"}, {"workers", {1}}}};
  scenario["stop"] = {{"steps", 2}};
  scenario["record"] = {{"timeline_events", 10000}};
  scenario.erase("optimizer");
  scenario.erase("target");
  scratch.write("late.json", scenario.dump());
  const Outcome outcome = scratch.simsgd("run late.json -o out");
  REQUIRE(outcome.err == "");
  const Json trace = Json::parse(contents(scratch.path() / "out" / "timeline.json"));
  int begins = 0, ends = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("name", "") != "holds up") continue;
    begins += event["ph"] == "s" && event["pid"] == 1;
    ends += event["ph"] == "f" && event["pid"] == 0;
    CHECK(event["pid"] == (event["ph"] == "s" ? 1 : 0));
  }
  CHECK(begins >= 2);  // in each step
  CHECK(ends == begins);
}

TEST_CASE("bad input ends with exit code 2, every error on stderr, and no file") {
  const Scratch scratch;
  scratch.write("s.json", R"({
  "cluster": {"use": "clusters/ethernet-1g.json", "workers": 0},
  "workload": {"use": "workloads/resnet20.json"}, "learner": null,
  "algorithm": {"name": "allreduce_sgb"}, "stop": {"stepz": 4}
})");
  const Outcome outcome = scratch.simsgd("run s.json -o out");
  CHECK(outcome.code == 2);
  CHECK(outcome.out == "");
  CHECK(outcome.err.find("s.json:/cluster/workers: ") != std::string::npos);
  CHECK(outcome.err.find("Did you mean \"allreduce_sgd\"?") != std::string::npos);
  CHECK(outcome.err.find("Did you mean \"steps\"?") != std::string::npos);
  CHECK(!fs::exists(scratch.path() / "out"));
}

TEST_CASE("usage errors exit with 2, help and version with 0") {
  const Scratch scratch;
  CHECK(scratch.simsgd("").code == 2);
  CHECK(scratch.simsgd("frobnicate").code == 2);
  CHECK(scratch.simsgd("run").code == 2);
  CHECK(scratch.simsgd("run s.json --threads 0").code == 2);
  CHECK(scratch.simsgd("--version").code == 0);
  for (const char* verb :
       {"run", "sweep", "results", "results compare", "check", "migrate", "list", "schema", "bench"}) {
    CAPTURE(verb);
    const Outcome help = scratch.simsgd(std::string(verb) + " --help");
    CHECK(help.code == 0);
    CHECK(help.out.find("Example") != std::string::npos);
  }
}

TEST_CASE("training that diverges ends with exit code 1 and a sentence") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome outcome =
      scratch.simsgd("run s.json --set /optimizer/learning_rate=1e12 --set /optimizer/weight_decay=1 -o out");
  CHECK(outcome.code == 1);
  CHECK(outcome.err.find("training diverged") != std::string::npos);
  CHECK(!fs::exists(scratch.path() / "out"));
}

TEST_CASE("more than 30,000 workers are refused with the reason; bench costs them") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome refused = scratch.simsgd("run s.json --set /cluster/workers=30001 --set /learner=null");
  CHECK(refused.code == 2);
  CHECK(refused.err.find("vm.max_map_count") != std::string::npos);
  const Outcome bench = scratch.simsgd(
      "bench all_reduce -b 1M -e 1M --workers 65536 --schedule recursive_doubling --cluster "
      "clusters/ethernet-1g.json");
  CHECK(bench.code == 0);
}

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
  CHECK(scratch.simsgd(options).out.find("Note") == std::string::npos);
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
      "graph \"star\" {\n  node [shape=circle];\n  node0 [type=host, shape=box];\n  node1 [type=host, "
      "shape=box];\n"
      "  switch0 [type=switch];\n"
      "  node0 -- switch0 [bandwidth=\"12000000000 B/s\", latency=\"7.5e-07 s\", "
      "tooltip=\"node0.nic0.up\"];\n"
      "  node1 -- switch0 [bandwidth=\"12000000000 B/s\", latency=\"7.5e-07 s\", "
      "tooltip=\"node1.nic0.up\"];\n}\n");
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
  CHECK(refused("graphs hypercube --workers 12") ==
        "graph of 12 workers:/name: needs a number of workers that is a power of two, not 12. Found: "
        "hypercube. Use 8 "
        "or 16 workers, or the graph exponential.\n");
  CHECK(refused("graphs --dot") ==
        "--dot: is about one logical graph or topology. Found: graphs. Write list graphs NAME --dot, or list "
        "topologies NAME --dot.\n");
  CHECK(refused("topologies torus --dot --set /dimensions=[2]") ==
        "network of 16 nodes:/dimensions: make 2 routers with 1 node each, too few for 16 nodes. Found: "
        "torus. Give "
        "larger ones, or more nodes_per_router.\n");
  CHECK(refused("topologies torus --dot --set /dimension=4")
            .starts_with("--set: sets no parameter of the topology"));
  CHECK(refused("topologies dot --dot") ==
        "--set: is missing for the topology \"dot\". Write --set /path=VALUE.\n");
  CHECK(refused("topologies torus --dot --cluster clusters/ethernet-1g.json --workers 2") ==
        "NAME: is not the topology of clusters/ethernet-1g.json. Found: torus. Write star.\n");
  CHECK(refused("topologies --cluster clusters/ethernet-1g.json") ==
        "--cluster: is about the drawing of a topology. Found: topologies. Write list topologies NAME --dot "
        "--cluster "
        "FILE.\n");
  CHECK(refused("graphs torus --set /row=4") ==
        "--set: sets no parameter of the graph \"torus\". Found: /row=4. Write /key=value, where the key is "
        "rows.\n");
  CHECK(refused("graphs file --workers 4") ==
        "--set: is missing for the graph \"file\". Write --set /path=VALUE.\n");
  CHECK(
      refused("graphs torus --set /rows=a") ==
      "graph of 16 workers:/rows: is not a whole number. Found: torus. Give a whole number of at least 2.\n");
  CHECK(refused("graphs rng").find("Did you mean ring?") != std::string::npos);
}

TEST_CASE("check tells what is right and what is wrong of several files at once") {
  const Scratch scratch;
  scratch.write("good.json", kScenario);
  scratch.write("bad.json", R"({"stop": {"steps": "ten"}})");
  CHECK(scratch.simsgd("check good.json").out == "good.json: a scenario, correct\n");
  const Outcome both = scratch.simsgd("check good.json bad.json none.json");
  CHECK(both.code == 2);
  CHECK(both.err.find("bad.json:/stop/steps") != std::string::npos);
  CHECK(both.err.find("none.json: does not exist") != std::string::npos);
}

TEST_CASE("check takes clusters, devices and workloads, and refuses what a run refuses") {
  const Scratch scratch;
  CHECK(scratch.simsgd("check devices/v100.json clusters/ethernet-1g.json workloads/resnet20.json").out ==
        "devices/v100.json: a device, correct\nclusters/ethernet-1g.json: a cluster, correct\n"
        "workloads/resnet20.json: a workload, correct\n");
  scratch.write("s.json", kScenario);
  const std::string wrong = " s.json --set /algorithm/name=wagma --set /algorithm/group_size=3";
  const Outcome check = scratch.simsgd("check" + wrong);
  CHECK(check.code == 2);
  CHECK(check.err == scratch.simsgd("run" + wrong).err);
}

TEST_CASE("options out of range are refused with what was written") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const Outcome seed = scratch.simsgd("run s.json --seed -1");
  CHECK(seed.code == 2);
  CHECK(seed.err == "--seed: is no seed. Found: -1. Write a whole number from 0 to 9007199254740992.\n");
  const Outcome threads = scratch.simsgd("run s.json --threads 40000");
  CHECK(threads.code == 2);
  CHECK(threads.err.find("--threads: Value 40000 not in range") != std::string::npos);
  CHECK(scratch.simsgd("sweep run s.json --jobs 40000").code == 2);
}

TEST_CASE("control characters in names do not reach the terminal") {
  const Scratch scratch;
  Json scenario = Json::parse(kScenario);
  scenario["name"] = "a\x1b[31mred\nline";
  scenario["stop"]["steps"] = 2;
  scratch.write("s.json", scenario.dump());
  for (const char* verb :
       {"run s.json", "sweep run s.json", "sweep plan s.json", "run s.json --set '/a\x1b[1m=1'"}) {
    CAPTURE(verb);
    const Outcome outcome = scratch.simsgd(verb);
    CHECK((outcome.out + outcome.err).find('\x1b') == std::string::npos);
  }
  CHECK(scratch.simsgd("run s.json").out.starts_with("a\\u001b[31mred\\nline: 4 x "));
}

TEST_CASE("a file that a full disk cuts never has its name") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  // No file may be larger than 8 kB: the timeline is.
  const std::string command = "cd " + scratch.path().string() + " && (trap '' XFSZ; ulimit -f 16; " +
                              SIMSGD_BINARY_DIR "/simsgd run s.json --json -o out) > /dev/null 2> err.txt";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(contents(scratch.path() / "err.txt") == "Cannot write out/timeline.json: File too large\n");
  for (const char* name : {"timeline.json", "timeline.json.part", "result.json"})
    CHECK(!fs::exists(scratch.path() / "out" / name));
}

TEST_CASE("4,096 workers under an address limit end with a sentence") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string command =
      "cd " + scratch.path().string() + " && (ulimit -v 2000000; " +
      SIMSGD_BINARY_DIR "/simsgd run s.json --threads 1 --set /cluster/workers=4096) > /dev/null 2> err.txt";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(contents(scratch.path() / "err.txt") ==
        "--set:/cluster/workers: need 2.22 GB of address space for their stacks, which this process does not "
        "get. "
        "Found: 4096. Raise the limit (ulimit -v), or use fewer workers.\n");
}

TEST_CASE("an overflow is called an overflow") {
  const Scratch scratch;
  Json scenario = Json::parse(kScenario);
  scenario["stragglers"] = {{{"name", "pareto"}, {"minimum", "1 s"}, {"shape", 0.1}}};
  scratch.write("s.json", scenario.dump());
  const Outcome outcome = scratch.simsgd("run s.json");
  CHECK(outcome.code == 1);
  CHECK(outcome.err.starts_with("The simulated time overflows: "));
}

TEST_CASE("Ctrl-C ends a run with exit code 130 and nothing written") {
  const Scratch scratch;
  Json endless = Json::parse(kScenario);
  endless["stop"] = {{"steps", 1000000000}};
  scratch.write("endless.json", endless.dump());
  const std::string command =
      "cd " + scratch.path().string() + " && timeout --preserve-status -k 60 -s INT 1 " +
      SIMSGD_BINARY_DIR "/simsgd run endless.json --threads 2 -o out > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(!fs::exists(scratch.path() / "out"));
}

TEST_CASE("a directory that cannot be written to is refused before the run") {
  const Scratch scratch;
  scratch.write("a.json", kScenario);
  scratch.write("file", "");
  const Outcome outcome = scratch.simsgd("run a.json -o file/x");
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("-o: cannot be written to: Not a directory. Found: file/x.") != std::string::npos);
}

TEST_CASE("bench takes nothing but the cluster from --set") {
  const Outcome outcome = Scratch().simsgd("bench all_reduce --set /gpus_per_node=8");
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("Did you mean /cluster/gpus_per_node?") != std::string::npos);
}

TEST_CASE("the example of run's help runs, and list takes a file's short name") {
  const Outcome outcome = Scratch().simsgd("run " SIMSGD_SOURCE_DIR
                                           "/scenarios/papers/wagma_resnet50_wagma.json --set "
                                           "/cluster/workers=16 --set /stop/steps=10");
  CHECK(outcome.code == 0);
  CHECK(Scratch().simsgd("list devices v100").code == 0);
}

}  // namespace simsgd::test::cli_command_line
