// The spec of a calibration by logs alone: nccl-tests, RCCL's, OSU's, NCCL Inspector's, our own
// micro-benchmarks. It has a default model of NCCL's stack, whose ratios are those of NCCL's tuning model
// (sim/stacks/nccl.cpp), beside one ring.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace simsgd {

struct LogSettings {
  std::optional<int> gpus_per_node;  ///< where logs do not tell on how many nodes they ran
  std::string device;                ///< "devices/h100.json"; "": the shipped one that the logs name
};

/// What the logs say of the machine, and the spec that is made of it.
struct LogSpec {
  nlohmann::json spec;             ///< as a file of scenarios/calibration: a start for one of one's own
  std::vector<std::string> notes;  ///< what had to be taken for granted
};

/// Whether the one file is a spec, and no measurements.
bool is_spec(const std::string& path);

/// Throws ConfigError with everything that the logs lack.
LogSpec spec_of_logs(const std::vector<std::string>& logs, const LogSettings& settings);

}  // namespace simsgd
