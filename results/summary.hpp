// The summary of runs for people: throughput, where the time of a step goes, how well it learns in what time,
// what it costs. Made from documents alone.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "results/run_files.hpp"

namespace simsgd {

struct SummaryColumn {
  std::string title;
  const nlohmann::ordered_json* document = nullptr;  ///< of the run; null: it failed
  /// Name and value of what distinguishes it, instead of the title; the same names in every column.
  std::vector<std::pair<std::string, std::string>> coordinates = {};
};

/// Up to so many runs stand side by side; more become rows of a shorter table.
inline constexpr std::size_t kMostSummaryColumns = 6;

/// What several runs have in common in one line, then the table.
std::string summary_table(const std::vector<SummaryColumn>& runs);

/// "rank 3, +50 %" of the rows of workers of a document: who computed and straggled longest in a step, and by
/// how much longer than the median worker; empty where that is less than 1 %.
std::string slowest_worker_text(const nlohmann::ordered_json& workers);
struct BusyWorker {
  double step_s = 0;  ///< computing and straggling, of a step
  int rank = 0;
};
/// The same of all workers that have done a step.
std::string slowest_of(std::vector<BusyWorker> workers);

/// What a table of rows needs of a document, given its text without spaces between values: to keep of many
/// runs.
nlohmann::ordered_json shortened_for_rows(const std::string& document);

// What a program prints of one run, simulated or real.

/// "" where the algorithm noted nothing; else an empty line before each table.
std::string decided_tables(const nlohmann::ordered_json& document);

/// The name of the run's scenario; where it has none, `file`.
std::string title_of(const nlohmann::ordered_json& document, const std::string& file);

/// The summary under this title, what the algorithm decided, and where the files lie, if any were written.
std::string run_summary(const nlohmann::ordered_json& document, const std::string& title,
                        const RunFiles& files);

}  // namespace simsgd
