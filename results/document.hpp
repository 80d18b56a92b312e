// The document of a run: what `run --json`, the result store and simsgd-measure write. Its bytes are a
// function of the scenario and the record alone, but for `context`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "results/run_context.hpp"
#include "sim/job.hpp"
#include "sim/record.hpp"

namespace simsgd {

inline constexpr int kSchemaVersion = 1;

struct Scenario;

nlohmann::ordered_json make_document(const RunContext& context, const Scenario& scenario, const Job& job,
                                     const RunRecord& record);

/// A key of the document, for its documentation: pointer (with "*" for any element or name), unit,
/// definition.
struct DocumentKey {
  std::string pointer, unit, definition;
};
const std::vector<DocumentKey>& document_keys();

}  // namespace simsgd
