// What is kept of runs and sweeps: the same for the store, for spool files, and between them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/model_version.hpp"
#include "results/document.hpp"

namespace simsgd {

enum class RunStatus { ok, failed, timeout };
std::string status_name(RunStatus status);

/// A run that has ended, however it ended.
struct RunRow {
  std::string key;  ///< see run_key
  int model_version = kModelVersion;
  RunStatus status = RunStatus::ok;
  std::string error;                ///< a sentence; empty where ok
  nlohmann::ordered_json scenario;  ///< resolved
  nlohmann::ordered_json context;   ///< who ran it, where, when; the only part that is not reproducible
  nlohmann::ordered_json document;  ///< whole, with both of the above; null unless ok
};

/// A point of a sweep; the run may not have ended, and other sweeps may share it.
struct SweepPointRow {
  std::string label;
  nlohmann::ordered_json coordinates;  ///< [{"pointer": "/cluster/workers", "value": 8}, ...]
  std::string key;                     ///< of its run
};

struct SweepRow {
  std::string id;    ///< key of its name and the keys of its points
  std::string name;  ///< of the study
  std::string file;  ///< as it was named
  std::vector<std::string> axes;
  std::vector<SweepPointRow> points;  ///< in the study's order
};

/// A run and a sweep as JSON, for spool files. Reading throws nlohmann's exceptions or RunError where
/// something is missing or unknown.
nlohmann::ordered_json to_json(const RunRow& run);
nlohmann::ordered_json to_json(const SweepRow& sweep);
RunRow run_from_json(const nlohmann::ordered_json& json);
SweepRow sweep_from_json(const nlohmann::ordered_json& json);

/// Throws RunError where there is no such status.
RunStatus status_from_name(const std::string& name);

}  // namespace simsgd
