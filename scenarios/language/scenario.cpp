#include "scenarios/language/scenario.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "scenarios/language/explain.hpp"
#include "scenarios/language/loading.hpp"
#include "scenarios/language/schema.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/use.hpp"

namespace simsgd {

namespace {

void reject_study_keys(const Sourced& sourced, ErrorList& errors) {
  if (refuse_keys_of_studies(sourced, errors)) return;
  for (const char* key : {"axes", "exclude", "seeds", "circumstances"})
    if (sourced.value.contains(key))
      errors.add(
          sourced.value, sourced.origins, std::string("/") + key, "makes this a study of several runs",
          "Run all of them with simsgd sweep run, or one with simsgd run --point N (0: without its axes)");
}

bool holds(const Sourced& sourced, const Json& resolved, const std::string& pointer, const Json& wanted) {
  const auto used = last_key(pointer) == "use" ? sourced.uses.find(parent(pointer)) : sourced.uses.end();
  if (used != sourced.uses.end()) return wanted == used->second;
  const Json* found = value_at(resolved, pointer);
  return found != nullptr && *found == wanted;
}

/// Keeps the expectations that are about this scenario.
void select_expected(const Sourced& sourced, Json& resolved) {
  Json kept = Json::array();
  for (Json each : resolved["expected"]) {
    const Json when = each.value("when", Json::object());
    bool applies = true;
    for (const auto& condition : when.items())
      applies = applies && holds(sourced, resolved, condition.key(), condition.value());
    each.erase("when");
    if (applies) kept.push_back(std::move(each));
  }
  resolved["expected"] = std::move(kept);
}

/// Defaults that depend on other values, in the sections that are right so far.
void complete(Json& resolved, const ErrorList& errors) {
  const auto right = [&](const char* section) {
    return resolved.contains(section) && !errors.touches(std::string("/") + section);
  };
  if (right("cluster")) complete_cluster(resolved["cluster"]);
  if (right("optimizer"))
    complete_optimizer(resolved["optimizer"], right("stop") ? resolved["stop"] : Json());
  if (right("workload")) complete_workload(resolved["workload"]);
}

}  // namespace

bool refuse_keys_of_studies(const Sourced& sourced, ErrorList& errors) {
  const Json& file = sourced.value;
  if (file.contains("axes") || file.contains("seeds")) return false;
  if (file.contains("exclude"))
    errors.add(file, sourced.origins, "/exclude", "excludes nothing, since there are no axes",
               "Leave it out, or give the study axes");
  if (file.contains("circumstances"))
    errors.add(file, sourced.origins, "/circumstances", "names no axis, since there are none",
               "Leave it out, or give the study axes");
  return file.contains("exclude") || file.contains("circumstances");
}

std::string name_of_file(const std::string& file) {
  std::error_code ignored;
  const bool is_file = file != shown_name("-") && std::filesystem::is_regular_file(file, ignored);
  return is_file ? std::filesystem::path(file).stem().string() : "scenario";
}

Loading load(JsonFiles& files, const std::string& path, const std::vector<Assignment>& assignments,
             bool as_point) {
  const Json& schema = resolved_schema();
  Loading loading;
  Sourced sourced = resolve_uses(files, path, assignments, named_choices(), loading.errors);
  check_claim(sourced, loading.errors);
  sourced.value.erase("claim");  // of a study, and no setting of a run
  if (as_point) {
    for (const char* key : {"axes", "exclude", "seeds", "circumstances"}) sourced.value.erase(key);
  } else {
    reject_study_keys(sourced, loading.errors);
  }
  if (!sourced.value.contains("name")) sourced.value["name"] = name_of_file(shown_name(path));
  Json resolved =
      checked(schema, std::move(sourced.value), sourced.origins, sourced.incomplete, loading.errors);
  complete(resolved, loading.errors);
  if (!loading.errors.touches("/expected")) select_expected(sourced, resolved);
  loading.scenario = {shown_name(path), std::move(resolved), std::move(sourced.origins)};
  return loading;
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
