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
  std::string error;               ///< a sentence; empty where ok
  std::string scenario;            ///< resolved, JSON
  nlohmann::ordered_json context;  ///< who ran it, where, when; the only part that is not reproducible
  /// Whole or brief (results/document.hpp), with null for the two above; null unless ok.
  nlohmann::ordered_json document;
};

/// `document`, whole or brief, taken apart. Where it is to be kept brief and is not, it is made so.
RunRow ended_run(const std::string& key, nlohmann::ordered_json document, bool whole);

/// Whether there are rows of workers, and not only what was made of them.
bool is_whole(const nlohmann::ordered_json& document);

/// The document with its scenario and its context.
nlohmann::ordered_json joined_document(const RunRow& run);

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

/// A run and a sweep as JSON text, for spool files; a document has its scenario and its context there.
/// Reading throws nlohmann's exceptions or RunError where something is missing or unknown.
std::string to_text(const RunRow& run);
nlohmann::ordered_json to_json(const SweepRow& sweep);
RunRow run_from_json(const nlohmann::ordered_json& json);
SweepRow sweep_from_json(const nlohmann::ordered_json& json);

/// Throws RunError where there is no such status.
RunStatus status_from_name(const std::string& name);

}  // namespace simsgd
