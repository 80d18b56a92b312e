// The document of a run: what `run --json`, the result store and simsgd-measure write. Its bytes are a
// function of the scenario and the record alone, but for `context`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/language/scenario.hpp"
#include "sim/job.hpp"
#include "sim/record.hpp"

namespace simsgd {

inline constexpr int kSchemaVersion = 1;

/// Who made a document, where, when, and at what expense.
struct RunContext {
  std::string program = "simsgd";
  std::string version;
  std::string git_commit;       ///< empty where unknown
  std::string simgrid_version;  ///< empty where none was used
  std::string build_type;       ///< empty where unknown
  std::string host;
  std::string date;  ///< UTC, ISO 8601
  double wall_time_s = 0;
  double peak_memory_bytes = 0;
};

/// `context` with host, date and peak memory of this process filled in.
RunContext with_machine(RunContext context);

nlohmann::ordered_json make_document(const RunContext& context, const Scenario& scenario, const Job& job,
                                     const RunRecord& record);

/// A key of the document, for its documentation: pointer (with "*" for any element or name), unit,
/// definition.
struct DocumentKey {
  std::string pointer, unit, definition;
};
const std::vector<DocumentKey>& document_keys();

}  // namespace simsgd
