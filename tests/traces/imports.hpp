// Imports of texts, and of compressed ones, for the tests of formats.
#pragma once

#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
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

inline std::vector<Measurement> rows_of(const Measurements& all, const std::string& quantity) {
  std::vector<Measurement> rows;
  for (const Measurement& row : all.rows)
    if (row.quantity == quantity) rows.push_back(row);
  return rows;
}

// A directory of its own, removed afterwards.
class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "simsgd-traces-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Files() { std::filesystem::remove_all(path_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string compress(const std::string& name, const std::string& text) const {
    const std::string path = (path_ / name).string();
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace simsgd::test::traces
