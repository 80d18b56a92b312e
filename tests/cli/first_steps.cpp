// What a new user tries first: scenarios from pipes, one point of a study, the bench on a scenario's cluster,
// and what devices and workloads are.
#include <doctest/doctest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/scratch.hpp"

namespace simsgd::test::cli_first_steps {

using Json = nlohmann::ordered_json;
using namespace cli;
using cli::Outcome;
using cli::without_context;

TEST_CASE("a scenario may come over a pipe") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string whole = without_context(scratch.simsgd("run s.json --json").out).dump();
  for (const char* way :
       {"run <(cat s.json) --json", "run - --json < s.json", "run /dev/stdin --json < s.json"}) {
    CAPTURE(way);
    scratch.write("command", SIMSGD_BINARY_DIR "/simsgd " + std::string(way));
    const std::string command = "cd " + scratch.path().string() + " && bash command > stdout.txt";
    CHECK(std::system(command.c_str()) == 0);
    CHECK(without_context(contents(scratch.path() / "stdout.txt")).dump() == whole);
  }
}

TEST_CASE("run --point runs one point of a study, and its summary says which") {
  const Scratch scratch;
  Json study = Json::parse(kScenario);
  study["axes"] = {{{"pointer", "/algorithm/period"}, {"values", {1, 4}}}};
  scratch.write("s.json", study.dump());
  const Outcome whole = scratch.simsgd("run s.json");
  CHECK(whole.code == 2);
  CHECK(whole.err.find("or one with simsgd run --point N (0: without its axes)") != std::string::npos);
  CHECK(Json::parse(scratch.simsgd("run s.json --point 0 --json").out)["scenario"]["algorithm"]["period"] ==
        3);
  CHECK(Json::parse(scratch.simsgd("run s.json --point 2 --json").out)["scenario"]["algorithm"]["period"] ==
        4);
  CHECK(scratch.simsgd("run s.json --point 2").out.find("algorithm/period=4") != std::string::npos);
  CHECK(scratch.simsgd("run s.json --point 3").code == 2);
}

TEST_CASE("bench takes the cluster of a scenario or study, with its workers") {
  const Scratch scratch;
  scratch.write("s.json", kScenario);
  const std::string options = "bench all_reduce -b 1M -e 4M -f 2 --workers 4 --cluster ";
  const Outcome of_scenario = scratch.simsgd(options + "s.json"),
                of_cluster = scratch.simsgd(options + "clusters/ethernet-1g.json");
  CHECK(of_scenario.code == 0);
  CHECK(of_scenario.out == of_cluster.out);
  CHECK(scratch.simsgd("bench all_reduce -b 1M -e 4M -f 2 --cluster s.json").out == of_scenario.out);
  CHECK(
      scratch.simsgd("bench all_reduce -b 1M -e 1M --cluster " SIMSGD_SOURCE_DIR "/scenarios/quickstart.json")
          .code == 0);
}

TEST_CASE("list shows the numbers of devices and workloads") {
  const Scratch scratch;
  const std::string device = scratch.simsgd("list devices v100").out;
  for (const char* line : {"  peak_flops: 14 TFLOPS\n", "  memory: 32 GB\n", "  efficiency: 0.44\n"}) {
    CAPTURE(line);
    CHECK(device.find(line) != std::string::npos);
  }
  // Its kernels with their laws and times: 2 x 4096^3 flop at 14 TFLOP/s x 0.8 are 12.3 ms.
  for (const char* part :
       {"  kernels, at nominal speed:\n", "    gemm: 2 m n k FLOPs at 14 TFLOP/s x 0.8", "m = n = k = 4096",
        "12.3 ms\n", "    invert: table of 6 measured times, and 20 us", "    accumulate: "}) {
    CAPTURE(part);
    CHECK(device.find(part) != std::string::npos);
  }
  const Json kernels = Json::parse(scratch.simsgd("list devices v100 --json").out)[0]["kernels"];
  REQUIRE(kernels.size() == 7);
  CHECK(kernels[0]["name"] == "gemm");
  CHECK(kernels[0]["samples"][2]["time_s"].get<double>() ==
        doctest::Approx(2 * 4096. * 4096 * 4096 / (14e12 * 0.8)));
  CHECK(kernels[0]["unknown"] == Json::array());
  const std::string workload = scratch.simsgd("list workloads resnet20").out;
  const Json json = Json::parse(scratch.simsgd("list workloads resnet20 --json").out)[0]["numbers"];
  // He et al., 2016: 0.27 million parameters for 19 convolutions, their normalisations and one dense layer.
  CHECK(json["parameters"].get<double>() == doctest::Approx(0.27e6).epsilon(0.02));
  CHECK(workload.find("  parameters: 269,722\n") != std::string::npos);
  CHECK(workload.find("  one device: ") != std::string::npos);
}

TEST_CASE("what can be installed after `./setup.sh run`, which builds little more than simsgd") {
  // simsgd-measure is installed where it is built, and is not an error where it is not.
  const std::string script = contents(SIMSGD_BINARY_DIR "/measure/cmake_install.cmake");
  const std::size_t install = script.find("file(INSTALL");
  REQUIRE(install != std::string::npos);
  CHECK(script.find("OPTIONAL", install) < script.find("simsgd-measure", install));
}

}  // namespace simsgd::test::cli_first_steps
