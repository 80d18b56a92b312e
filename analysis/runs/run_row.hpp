// What is kept of runs and sweeps: the same for the store, for spool files, and between them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
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
  std::string error;  ///< a sentence; empty where ok
  /// JSON. Of a result its document, whole or brief (results/document.hpp); else {"context", "scenario"}. The
  /// context, who ran it, where and when, is the only part that is not reproducible.
  std::string document;
  bool whole = false;                     ///< there are rows of workers, and not only what was made of them
  std::map<std::string, double> metrics;  ///< of the document; those that have a value
  std::vector<std::string> notes;         ///< likewise

  /// The document, with the intervals that follow from the rest of it (analysis/data_sheet.hpp): its text has
  /// none.
  nlohmann::ordered_json read() const;
};

/// Of a document with its scenario: its "intervals", or those that follow from the rest; an empty object
/// where the run was asked for none.
nlohmann::ordered_json intervals_in(nlohmann::ordered_json document);

/// A result; `whole` false makes the document brief where it is not.
RunRow ended_run(const std::string& key, nlohmann::ordered_json document, bool whole);
/// The same of a brief document that has null for its scenario, which is JSON.
RunRow ended_run(nlohmann::ordered_json document, const std::string& scenario);

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

/// A run and a sweep as JSON text, for pipes and spool files. Reading throws nlohmann's exceptions or
/// RunError where something is missing or unknown; it does not look into the document.
std::string to_text(const RunRow& run);
RunRow run_from_text(const std::string& text);
nlohmann::ordered_json to_json(const SweepRow& sweep);
SweepRow sweep_from_json(const nlohmann::ordered_json& json);

/// Throws RunError where there is no such status.
RunStatus status_from_name(const std::string& name);

}  // namespace simsgd
