// Imports of texts, and of compressed ones, for the tests of formats.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "tests/support/temporary_folder.hpp"
#include "traces/import.hpp"

namespace simsgd::test::traces {

inline Measurements imported(const std::string& text, const ImportOptions& options = {}) {
  return import_text("f", text, options);
}

inline ImportOptions mapped(const std::string& map) {
  ImportOptions options;
  options.map = RawValue(nlohmann::json::parse(map));
  options.map_path = "map.json";
  return options;
}

inline ImportOptions with(const std::string& key, const std::string& value) {
  ImportOptions options;
  options.set[key] = value;
  return options;
}

// All errors of an import, a line each; empty where it worked.
inline std::string import_errors(const std::string& text, const ImportOptions& options = {}) {
  try {
    (void)imported(text, options);
  } catch (const ConfigError& error) {
    std::string all;
    for (const InputError& each : error.errors()) all += each.text() + "\n";
    return all;
  }
  return "";
}

// "3 times of 0; 1 lines ..." of the first file.
inline std::string counts(const std::map<std::string, std::size_t>& all) {
  std::string text;
  for (const auto& [reason, count] : all)
    text += (text.empty() ? "" : "; ") + std::to_string(count) + " " + reason;
  return text;
}
inline std::string ignored(const Measurements& all) { return counts(all.reports.at(0).ignored); }
inline std::string understood(const Measurements& all) { return counts(all.reports.at(0).understood); }

// All rows, a line each, with all that they tell but their file: "time_s 9e-06 all_reduce, 2 workers, 8 B;
// type=float".
inline std::string rows_text(const Measurements& all) {
  std::string text;
  for (const Measurement& row : all.rows) {
    text += fmt::format("{} {:.9g}", row.quantity, row.value);
    if (!(row.deviation != row.deviation)) text += fmt::format(" +- {:.9g}", row.deviation);
    if (!row.operation.empty()) text += " " + row.operation;
    if (row.workers > 0) text += fmt::format(", {} workers", row.workers);
    if (row.nodes > 0) text += fmt::format(", {} nodes", row.nodes);
    if (row.bytes == row.bytes) text += fmt::format(", {:.9g} B", row.bytes);
    if (row.samples != 1) text += fmt::format(", {} samples", row.samples);
    if (!row.campaign.empty()) text += ", campaign " + row.campaign;
    if (row.line > 0) text += fmt::format(", line {}", row.line);
    const char* separator = "; ";
    for (const auto& [label, value] : row.labels)
      text += std::exchange(separator, ", ") + fmt::format("{}={}", label, value);
    text += "\n";
  }
  return text;
}

inline std::vector<Measurement> rows_of(const Measurements& all, const std::string& quantity) {
  std::vector<Measurement> rows;
  for (const Measurement& row : all.rows)
    if (row.quantity == quantity) rows.push_back(row);
  return rows;
}

class Files : public TemporaryFolder {
 public:
  std::string compress(const std::string& name, const std::string& text) const {
    const std::string compressed = path(name);
    gzFile file = gzopen(compressed.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return compressed;
  }
};

}  // namespace simsgd::test::traces
