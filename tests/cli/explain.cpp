// simsgd explain, held against a model of its own: gradients of equal layers leave one after another, each as
// soon as it is there and the link is free.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_explain {

using Json = nlohmann::ordered_json;
using namespace cli;

namespace {

// Two GPUs to a node, links without latency and hosts without costs: all that is left is arithmetic.
constexpr const char* kCluster = R"({
  "name": "plain", "device": {"use": "devices/v100.json", "communication_slowdown": 0}, "gpus_per_node": 2,
  "gpu_link": {"bandwidth": "100 GB/s", "latency": 0},
  "nic": {"bandwidth": "8 Gbps", "latency": 0},
  "topology": {"name": "star"},
  "host": {"launch": 0, "tensor": 0, "pack": 0, "staged": false, "reduce": 0, "copy": 0, "merge": 0, "scatter_add": 0},
  "source": "a test"
})";

struct Ring {
  int ranks;
  double slowest_Bps;  // of the links on the way around
  double seconds(double bytes) const { return 2.0 * (ranks - 1) / ranks * bytes / slowest_Bps; }
};

// 32 layers; backward takes two thirds of the step. Layers are above 25 MiB: each is a bucket.
double step_s(double computing_s, double bytes, const Ring& ring) {
  double link_free_s = 0;
  for (int layer = 1; layer <= 32; ++layer) {
    const double ready_s = computing_s / 3 + computing_s * 2 / 3 * layer / 32;
    link_free_s = std::max(link_free_s, ready_s) + ring.seconds(bytes / 32);
  }
  return link_free_s;
}

constexpr double kParameters = 256e6, kBytes = 4 * kParameters, kStep_s = 1.5;
const std::string kQuestion =
    "explain --parameters 256e6 --step 1.5s --gpus 8 --network plain.json --json";  // 4 nodes

Json asked(const Scratch& scratch, const std::string& arguments) {
  const Outcome outcome = scratch.simsgd(arguments);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  return Json::parse(outcome.out);
}

const Json& named(const Json& all, const std::string& name) {
  for (const Json& each : all)
    if (each.at("name") == name) return each;
  FAIL("no " << name);
  return all;
}

}  // namespace

TEST_CASE(
    "explain gives the step, sizes, remedies and bandwidth of an independent model, the same bytes every time") {
  const Scratch scratch;
  scratch.write("plain.json", kCluster);
  const Outcome first = scratch.simsgd(kQuestion);
  CHECK(first.out == scratch.simsgd(kQuestion).out);
  const Json answer = Json::parse(first.out);
  const double by_hand_s = step_s(kStep_s, kBytes, {8, 1e9});
  CHECK(answer["step"]["step_s"].get<double>() == doctest::Approx(by_hand_s).epsilon(1e-9));
  CHECK(answer["step"]["efficiency"].get<double>() == doctest::Approx(kStep_s / by_hand_s).epsilon(1e-9));
  double sum_s = 0;
  for (const Json& part : answer["step"]["parts"]) sum_s += part.get<double>();
  CHECK(sum_s == doctest::Approx(by_hand_s).epsilon(1e-9));

  for (const Json& size : answer["sizes"]) {
    const int gpus = size["gpus"];
    CAPTURE(gpus);
    const Ring ring{gpus, gpus <= 2 ? 100e9 : 1e9};
    const double expected_s = gpus == 1 ? kStep_s : step_s(kStep_s, kBytes, ring);
    CHECK(size["step_s"].get<double>() == doctest::Approx(expected_s).epsilon(1e-9));
  }
  const Json& half = named(answer["remedies"], "accumulation");
  const double four_s =
      step_s(kStep_s, kBytes, {8, 1e9}) + 3 * kStep_s;  // three more passes, which send nothing
  CHECK(half["step_s"].get<double>() == doctest::Approx(four_s / 4).epsilon(1e-6));
  const double averaging_s = Ring{8, 1e9}.seconds(kBytes);
  CHECK(named(answer["remedies"], "local_sgd")["step_s"].get<double>() ==
        doctest::Approx(kStep_s + averaging_s / 8).epsilon(1e-6));
  const double wanted_Bps = answer.at("bandwidth").at("nic_Bps");  // that keeps 90 %
  CHECK(kStep_s / step_s(kStep_s, kBytes, {8, wanted_Bps}) >= 0.9);
  CHECK(kStep_s / step_s(kStep_s, kBytes, {8, wanted_Bps / 1.006}) < 0.9);
}

TEST_CASE("explain: in one node no bandwidth is named, slow hosts bound it, one GPU is itself") {
  const Scratch scratch;
  scratch.write("plain.json", kCluster);
  const Json node =
      asked(scratch, "explain --parameters 256e6 --step 1.5s --gpus 2 --network plain.json --json");
  CHECK(node["bandwidth"]["nic_Bps"].is_null());
  CHECK(node["answer"].get<std::string>().find("in one node") != std::string::npos);
  Json slow = Json::parse(kCluster);
  slow["host"]["launch"] = 1.0;
  scratch.write("slow.json", slow.dump());
  const Json hosts =
      asked(scratch, "explain --parameters 256e6 --step 1.5s --gpus 8 --network slow.json --json");
  // Beside the first, 31 launches of a second each end after the pass: an endless network cannot hide them.
  CHECK(hosts["bandwidth"]["limit"].get<double>() < 0.1);
  CHECK(hosts["bandwidth"]["efficiency"].get<double>() ==
        doctest::Approx(0.9 * hosts["bandwidth"]["limit"].get<double>()));
  const Json one = asked(scratch, "explain --parameters 1e6 --step 10ms --gpus 1 --network 10gbe --json");
  CHECK(one["step"]["step_s"].get<double>() == doctest::Approx(0.01).epsilon(1e-9));
}

TEST_CASE("explain: the least bandwidth that is tried is not said to be the least that does") {
  const Scratch scratch;
  const Json answer = asked(scratch, "explain --parameters 1 --step 0.13s --gpus 16 --network 10gbe --json");
  CHECK(answer["answer"].get<std::string>().find("Mb/s a node on, and perhaps from less (") !=
        std::string::npos);
}

TEST_CASE("explain: the scenario that it prints gives the same step with run") {
  const Scratch scratch;
  const Json answer = asked(
      scratch, "explain --parameters 110e6 --step 0.3s --gpus 16 --network 25gbe --framework horovod --json");
  scratch.write("same.json", answer.at("scenario").dump());
  const Json run = asked(scratch, "run same.json --draws 0 --json");
  CHECK(run["metrics"]["iteration_time_mean_s"] == answer["step"]["step_s"]);
}

TEST_CASE("explain: every framework answers") {
  const Scratch scratch;
  for (const char* framework : {"fsdp", "zero2", "gloo", "mpi"}) {  // others above and below
    CAPTURE(framework);
    asked(scratch,
          std::string("explain --parameters 25e6 --step 0.1s --gpus 6 --network ib100 --json --framework ") +
              framework);
  }
}

TEST_CASE(
    "a named network is that of any machine: no GPU's memory counts, and what is inside a node is said") {
  const Scratch scratch;
  const Json answer =
      asked(scratch, "explain --parameters 8e9 --step 2s --gpus 16 --network ib400 --gpus-per-node 8 --json");
  CHECK(answer["step"]["step_s"].get<double>() > 2);
  CHECK(answer["notes"][0].get<std::string>().find("sends and receives 12 GB/s") != std::string::npos);
  CHECK(scratch.simsgd("explain --parameters 1e6 --step 1s --gpus 1 --network 1gbe")
            .out.starts_with("1 GPU in one node keeps 100 %"));
}

TEST_CASE("explain: two machines on 1 Gb/s take the wire's time, and each GPU has its NIC") {
  const Scratch scratch;
  const Json answer =
      asked(scratch, "explain --parameters 110e6 --step 0.13s --gpus 2 --network 1gbe --json");
  // Each sends 440 MB at 117.7 MB/s, what TCP leaves of 1 Gb/s. At most the backward pass hides any of it.
  const double wire_s = 2 * (2 - 1) / 2.0 * 440e6 / (0.9416 * 125e6);
  CHECK(answer["step"]["step_s"].get<double>() > wire_s);
  CHECK(answer["step"]["step_s"].get<double>() < wire_s + 0.13 + 0.01 * wire_s);
  CHECK(answer["answer"].get<std::string>().find("between nodes 1 GPU has 1 Gb/s.") != std::string::npos);
}

TEST_CASE("explain reads numbers and names as people write them: 110M, 10GbE, DDP") {
  const Scratch scratch;
  const auto step = [&](const std::string& parameters, const std::string& rest) {
    return asked(scratch, "explain --step 0.13s --gpus 8 --json --parameters " + parameters + rest)["step"];
  };
  const Json plain = step("110e6", " --network 10gbe --framework ddp");
  CHECK(step("110M", " --network 10GbE --framework DDP") == plain);
  for (const char* same : {"0.11B", "110000k", "0.00011T"}) CHECK(step(same, " --network 10gbe") == plain);
}

TEST_CASE("explain: a remedy that cannot be simulated says why beside the others, and nothing saves -0 %") {
  const Scratch scratch;
  // 1 % of 1e12 values of 8 bytes, from 128 nodes: 10 TB to gather on each.
  const Outcome outcome = scratch.simsgd("explain --parameters 1e12 --step 1s --gpus 1024 --network ib100");
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("A message of 1.024e+13 bytes is larger than 8e+12 bytes") != std::string::npos);
  CHECK(outcome.out.find("1024 GPUs on 256 nodes keep 0.15 % of perfect speed-up") == 0);
  CHECK(outcome.out.find("PowerSGD of rank 4") != std::string::npos);
  CHECK(
      scratch.simsgd("explain --parameters 25.6e6 --step 0.13s --gpus 4 --network 10gbe").out.find("-0 %") ==
      std::string::npos);
}

}  // namespace simsgd::test::cli_explain
