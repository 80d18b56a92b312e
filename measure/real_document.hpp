// What comes out of a real run: the document of the simulation with notes on what was different, files, and a
// summary for people.
#pragma once

#include <filesystem>
#include <string>

#include "results/document.hpp"

namespace simsgd {

/// The document, with "notes": sentences on what a real run does not take from the scenario.
nlohmann::ordered_json real_document(const Scenario& scenario, const Job& job, const RunRecord& record,
                                     double wall_time_s);

/// A few lines for people.
std::string real_summary(const nlohmann::ordered_json& document);

/// Writes DIR/result.json, and DIR/loss.csv and DIR/accuracy.csv where there is something to write. Makes
/// DIR. Throws RunError.
void write_real_run(const nlohmann::ordered_json& document, const std::filesystem::path& directory);

/// "simsgd-measure 0.1.0 (...)"
std::string version_text();

}  // namespace simsgd
