#include "cli/run_on.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/verbs.hpp"
#include "scenarios/language/json_source.hpp"
#include "scenarios/language/study.hpp"
#include "sim/base/errors.hpp"
#include "traces/import.hpp"

namespace simsgd {

namespace {

/// As `use` takes it wherever the scenario lies.
std::string found_file(const std::string& option, const std::string& name) {
  const FoundFile found = find_file(name, "");
  if (found.path.empty()) throw ConfigError({option, "", "does not exist", name, found.remedy});
  return std::filesystem::absolute(found.path).string();
}

/// A workload's file, or what a recorded job shows of its network.
Json workload_of(const std::string& path) {
  if (path.ends_with(".json")) {
    Json json = Json::parse(read_file(path), nullptr, false, true);
    for (const char* key : {"layers", "step_time", "step_cost", "use"})
      if (json.is_object() && json.contains(key)) {
        Json workload = {{"use", path}};
        if (json.contains("batch")) workload["batch"] = json["batch"];
        return workload;
      }
  }
  const Imported recorded = import_files({path}, {});
  if (recorded.workloads.size() != 1)
    throw ConfigError({"--workload", "", "shows no network, or several", path,
                       "Name a workload file, or a trace of one rank"});
  return Json::parse(workload_file(recorded.workloads.front(), path));
}

}  // namespace

void RunOnOptions::add_to(CLI::App& verb) {
  verb.add_option("--on", cluster,
                  "Simulate on this cluster, such as calibrate writes, in place of the scenario's")
      ->type_name("CLUSTER");
  verb.add_option(
          "--workload", workload,
          "Take the network from a workload file, or from a trace of one rank (simsgd import), with its host gaps")
      ->type_name("FILE");
  workers_option =
      verb.add_option("--workers", workers, "Simulate this many GPUs, in place of the scenario's")
          ->type_name("N")
          ->check(CLI::PositiveNumber);
}

Overrides RunOnOptions::before(Overrides overrides, const std::string& scenario) const {
  std::vector<std::pair<std::string, std::string>> set;
  const bool has_workers = workers_option->count() > 0;
  Json own;  // the scenario without these options, read where something of it stays
  const auto stays = [&](const char* section, const char* key) {
    if (own.is_null()) own = load_numbered_point(scenario, 0, overrides).scenario.resolved;
    return own.at(section).at(key);
  };
  if (!cluster.empty()) {
    Json section = {{"use", found_file("--on", cluster)}};
    section["workers"] = has_workers ? Json(workers) : stays("cluster", "workers");
    set.emplace_back("/cluster", section.dump());
  } else if (has_workers) {
    set.emplace_back("/cluster/workers", std::to_string(workers));
  }
  if (!workload.empty()) {
    Json section = workload_of(found_file("--workload", workload));
    if (!section.contains("batch")) section["batch"] = stays("workload", "batch");
    set.emplace_back("/workload", section.dump());
  }
  overrides.set.insert(overrides.set.begin(), set.begin(), set.end());
  return overrides;
}

}  // namespace simsgd
