// A single run as results: what simsgd run -o and simsgd-measure run -o wrote, or simsgd run --json printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/runs/store.hpp"

namespace simsgd {

/// Whether it is one: "-" (standard input), a folder with a result.json, or a file of JSON.
bool is_single_run(const std::string& path);

/// Its document. Throws ConfigError where there is none.
nlohmann::ordered_json run_document(const std::string& path);

/// A store in memory: a study of the scenario's name with one point, which has this run.
ResultStore store_of_run(const std::string& path);

}  // namespace simsgd
