// The program in a directory of its own, and a small scenario to give it.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/contents.hpp"
#include "tests/support/temporary_folder.hpp"

namespace simsgd::test::cli {

struct Outcome {
  int code = 0;
  std::string out, err;
};

// A directory of its own for each test.
class Scratch : public TemporaryFolder {
 public:
  const std::filesystem::path& path() const { return root(); }

  // Runs `simsgd arguments` in this directory.
  Outcome simsgd(const std::string& arguments,
                 const std::string& program = SIMSGD_BINARY_DIR "/simsgd") const {
    const std::string command =
        "cd " + root().string() + " && " + program + " " + arguments + " > stdout.txt 2> stderr.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(root() / "stdout.txt"),
            contents(root() / "stderr.txt")};
  }
};

inline constexpr const char* kScenario = R"({
  "name": "small",
  "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
  "workload": {"use": "workloads/resnet20.json", "batch": 128},
  "learner": {"model": {"name": "softmax_regression"}, "data": {"name": "gaussian_mixture"}, "batch": 16},
  "optimizer": {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9},
  "algorithm": {"name": "local_sgd", "period": 3},
  "stragglers": [{"name": "lognormal", "mean": "20 ms", "sigma": 0.5}],
  "stop": {"steps": 40},
  "record": {"evaluate_every": 10}
})";

// Rings as of three runs, and what is fitted to them.
inline constexpr const char* kRings =
    "P,B,t\n2,1000,20.2\n2,1000000,220\n4,1000,60.3\n4,1000000,360\n8,1000,140.35\n8,1000000,490\n";
inline constexpr const char* kRingsSpec = R"({"name": "rings",
  "scenario": {"cluster": {"name": "c", "device": {"use": "devices/v100.json"}, "topology": {"name": "star"},
    "nic": {"bandwidth": "1 GB/s"}, "host": {"launch": 0, "staged": false, "reduce": 0, "tensor": 0, "pack": 0}}},
  "data": [{"files": ["rings.csv"], "map": {"workers": "P", "bytes": {"from": "B", "unit": "B"},
    "values": [{"quantity": "time_s", "from": "t", "unit": "us"}], "constants": {"operation": "all_reduce"}}}],
  "predict": [{"as": "collective"}],
  "models": [{"name": "ring", "parameters": [
    {"name": "latency", "pointers": ["/cluster/nic/latency"], "low": "1 us", "high": "1 ms"},
    {"name": "bandwidth", "pointers": ["/cluster/nic/bandwidth"], "low": "0.1 GB/s", "high": "100 GB/s"}]}],
  "fit": {"where": {"workers": [2, 4]}}, "tests": [{"name": "8", "where": {"workers": 8}}]})";

inline nlohmann::ordered_json without_context(const std::string& text) {
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(text);
  document.erase("context");
  return document;
}

}  // namespace simsgd::test::cli
