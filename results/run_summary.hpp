// What a program prints of one run, simulated or real.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "results/run_files.hpp"

namespace simsgd {

/// Rows that are shown of a table; the document has all.
inline constexpr std::size_t kMostTableRows = 16;

/// "" where the algorithm noted nothing; else an empty line before each table.
std::string decided_tables(const nlohmann::ordered_json& document);

/// The name of the run's scenario; where it has none, `file`.
std::string title_of(const nlohmann::ordered_json& document, const std::string& file);

/// The summary under this title, what the algorithm decided, and where the files lie, if any were written.
std::string run_summary(const nlohmann::ordered_json& document, const std::string& title,
                        const RunFiles& files);

}  // namespace simsgd
