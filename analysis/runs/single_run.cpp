#include "analysis/runs/single_run.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "analysis/runs/run_key.hpp"
#include "sim/base/errors.hpp"

namespace simsgd {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr const char* kStandardInput = "-";
constexpr const char* kInMemory = ":memory:";  // SQLite's name for it

fs::path document_in(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none) ? fs::path(path) / "result.json" : fs::path(path);
}

}  // namespace

bool is_single_run(const std::string& path) {
  if (path == kStandardInput) return true;
  const fs::path file = document_in(path);
  std::error_code none;
  return fs::is_regular_file(file, none) && std::ifstream(file).peek() == '{';
}

OrderedJson run_document(const std::string& path) {
  const auto refuse = [&](const std::string& problem) {
    throw ConfigError(
        InputError{path, "", problem, "",
                   "Name a directory that simsgd run -o or simsgd-measure run -o made, or its result.json"});
  };
  std::ifstream file;
  if (path != kStandardInput) {
    file.open(document_in(path));
    if (!file) refuse("has no result.json that can be read");
  }
  OrderedJson document = OrderedJson::parse(path == kStandardInput ? std::cin : file, nullptr, false);
  const bool is_run = document.is_object() && document.contains("metrics") && document.contains("workers") &&
                      document.contains("series");
  if (!is_run) refuse("is not the document of a run");
  return document;
}

ResultStore store_of_run(const std::string& path) {
  const OrderedJson document = run_document(path);
  const OrderedJson scenario = document.value("scenario", OrderedJson::object());
  ResultPoint point;
  point.key = run_key(Json::parse(scenario.dump()));
  const std::string name = scenario.value("name", "run");
  ResultStore store(kInMemory);
  store.put(ResultStudy{name_key("run", point.key), name, path, {}, {point}});
  store.put(ended_run(point.key, document, false));
  return store;
}

}  // namespace simsgd
