// What is kept of runs and of the studies that they belong to: the same for the store, for spool files, and
// between them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/document.hpp"
#include "sim/base/fields.hpp"

namespace simsgd {

// The version of what SimSGD computes, as part of the key of every stored run.

/// Raised in the commit after which the same scenario may give other numbers: stored results of older
/// versions are then run again instead of being taken for new ones.
inline constexpr int kModelVersion = 4;

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

/// A metric of a run; nothing where it has no value.
inline std::optional<double> metric_in(const std::map<std::string, double>& metrics,
                                       const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

/// Where a point stands on an axis of its study.
struct ResultCoordinate {
  std::string axis;                       ///< its short name: "algorithm", "cluster/workers", "severity"
  std::string pointer;                    ///< what varies, or the first of several zipped ones
  std::string label;                      ///< of the value, for people: "wagma (group_size 4)", "one slow"
  nlohmann::ordered_json value;           ///< as it was set
  std::optional<bool> circumstance = {};  ///< what the study says of it; see frame.hpp
};

/// A point of a study, and what its run gave.
struct ResultPoint {
  std::size_t position = 0;  ///< in the study, from 0
  std::string label;
  std::vector<ResultCoordinate> coordinates;  ///< without the seed
  std::optional<std::int64_t> seed;           ///< where the study varies it
  std::string key;                            ///< of its run; points may share it
  std::optional<RunStatus> status;            ///< none: not run yet
  std::string error;                          ///< a sentence, where it failed
  std::map<std::string, double> metrics;      ///< SI; those that have a value
  bool optional = false;                      ///< a seed that only runs where those before it are not enough
};

/// A study of which points have run, or will.
struct ResultStudy {
  std::string id;  ///< key of its name and the keys of its points
  std::string name;
  std::string file;                 ///< as it was named
  std::vector<std::string> axes;    ///< pointers that vary, in the study's order
  std::vector<ResultPoint> points;  ///< in the study's order
};

/// The list of a point's coordinates, and of its seed, as the store has it: [{"pointer": "/cluster/workers",
/// "axis": ..., "label": ..., "value": 8}, ...]. Reading throws nlohmann's exceptions.
nlohmann::ordered_json coordinates_json(const ResultPoint& point);
void read_coordinates(const nlohmann::ordered_json& json, ResultPoint& point);

/// A result, for a process of the same program.
std::string to_bytes(const RunRow& run);
RunRow run_from_bytes(std::string_view bytes);

/// A run and a study (without what its runs gave) as JSON text, for pipes and spool files. Reading throws
/// nlohmann's exceptions or RunError where something is missing or unknown; it does not look into the
/// document.
std::string to_text(const RunRow& run);
RunRow run_from_text(const std::string& text);
nlohmann::ordered_json to_json(const ResultStudy& study);
ResultStudy study_from_json(const nlohmann::ordered_json& json);

/// Throws RunError where there is no such status.
RunStatus status_from_name(const std::string& name);

// The key of a run: equal for equal runs on every machine, different for any other scenario, seed or model
// version.

/// A name-based UUID (RFC 4122, version 5, SHA-1) of the model version and the resolved scenario, which holds
/// the seed: 36 characters. What lies in data files is not part of it; where such a file was changed, redo
/// the runs with --force.
std::string run_key(const Json& resolved_scenario, int model_version = kModelVersion);
/// Of its text.
std::string run_key_of_text(const std::string& resolved_scenario, int model_version = kModelVersion);

/// The same for other texts, told apart by `kind`.
std::string name_key(const std::string& kind, const std::string& text);

}  // namespace simsgd
