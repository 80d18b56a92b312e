// The document of a run: what `run --json`, the result store and simsgd-measure write. Its bytes are a
// function of the scenario and the record alone, but for `context`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/job.hpp"
#include "sim/record.hpp"

namespace simsgd {

// Who made a result, where, when, and at what expense: all of it that is not reproducible.

struct RunContext {
  std::string program = "simsgd";
  std::string version;
  std::string git_commit;  ///< empty where unknown
  std::string build_type;  ///< empty where unknown
  std::string host;
  std::string date;  ///< UTC, ISO 8601
  double wall_time_s = 0;
  double peak_memory_bytes = 0;
};

/// Version, commit and build of this source, whatever the program is called.
RunContext context_of(const std::string& program);

/// `context` with host, date and peak memory of this process filled in.
RunContext with_machine(RunContext context);

/// "simsgd 0.1.0 (commit, Release)", as --version prints it.
std::string version_text(const RunContext& context);

/// A context as documents have it.
nlohmann::ordered_json to_json(const RunContext& context);

inline constexpr int kSchemaVersion = 1;

struct Scenario;

nlohmann::ordered_json make_document(const RunContext& context, const Scenario& scenario, const Job& job,
                                     const RunRecord& record);

/// What is kept of a run where documents are not: the document without its rows of workers and all but the
/// busiest links. Instead of them "worker_spreads", {name: [least, lower quartile, median, upper quartile,
/// most]} over workers, and "slowest_worker" as summaries tell it. Has null for its scenario where the run
/// has it elsewhere.
nlohmann::ordered_json brief_document(const nlohmann::ordered_json& document);
/// The same of a run, with null for its scenario.
nlohmann::ordered_json make_brief_document(const RunContext& context, const Scenario& scenario,
                                           const Job& job, const RunRecord& record);
inline constexpr std::size_t kBriefLinks = 10;

/// A key of the document, for its documentation: pointer (with "*" for any element or name), unit,
/// definition.
struct DocumentKey {
  std::string pointer, unit, definition;
};
const std::vector<DocumentKey>& document_keys();

}  // namespace simsgd
