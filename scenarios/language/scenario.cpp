#include "scenarios/language/scenario.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/language/scenario_loader.hpp"

namespace simsgd {

std::string name_of_file(const std::string& file) {
  std::error_code ignored;
  const bool is_file = file != shown_name("-") && std::filesystem::is_regular_file(file, ignored);
  return is_file ? std::filesystem::path(file).stem().string() : "scenario";
}

Scenario finished(Loading loading) {
  if (!loading.errors.empty()) build_job(loading.scenario, loading.errors);
  loading.errors.throw_if_any();
  return std::move(loading.scenario);
}

Scenario load_scenario(const std::string& path, const Overrides& overrides) {
  JsonFiles files;
  return finished(load(files, scenario_path(path), assignments(overrides), false));
}

std::string scenario_path(const std::string& path) {
  if (path == "-") return path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw ConfigError({path, "", "is a directory", "", "Name a JSON file in it"});
  const FoundFile found = find_file(path, "");
  if (found.path.empty()) throw ConfigError({path, "", "does not exist", "", found.remedy});
  return found.path;
}

}  // namespace simsgd
