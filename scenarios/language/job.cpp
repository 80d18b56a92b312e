#include <nlohmann/json.hpp>

#include "scenarios/language/communication.hpp"
#include "scenarios/language/job_builder.hpp"
#include "scenarios/language/sections.hpp"

namespace simsgd {

Job build_job(const Scenario& scenario, ErrorList& errors, KnownData* known) {
  return std::move(JobBuilder(known).build(scenario, errors));
}

Json completed(const Scenario& scenario, const Job& job) {
  Json all = scenario.resolved;
  complete_machines(all["cluster"], all["network"]);
  complete_learner(all["learner"], job);
  complete_algorithm(all["algorithm"], job);
  return all;
}

Job make_job(const Scenario& scenario, KnownData* known) {
  ErrorList errors;
  Job job = build_job(scenario, errors, known);
  errors.throw_if_any();
  return job;
}

Job make_job(const Scenario& scenario) { return make_job(scenario, nullptr); }

Loading load_around_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides) {
  JsonFiles files;
  const std::string file = scenario_path(path);
  const Json& json = files.read(file);
  const bool scenario = json.is_object() && json.contains("cluster");
  std::vector<Assignment> all;
  if (!scenario) all.push_back({"/cluster/use", file, {"--cluster", ""}});
  if (workers || !scenario)
    all.push_back({"/cluster/workers", workers.value_or(kBenchWorkers), {"--workers", ""}});
  for (Assignment& each : assignments(overrides)) all.push_back(std::move(each));
  if (scenario) return load(files, file, all, true);
  files.put("--cluster", Json::object());
  return load(files, "--cluster", all, false);
}

namespace {

/// What is missing or wrong in other sections is not an error here.
ClusterFile cluster_of(const Scenario& scenario, ErrorList& errors) {
  const Reader reader(scenario, errors);
  std::optional<Machines> machines = build_cluster(reader);
  CollectivePolicies collectives = build_policies(reader, machines ? machines->stack : std::nullopt);
  errors.throw_if_any("/cluster");
  errors.throw_if_any("/network");
  return {std::move(machines->cluster), std::move(collectives)};
}

}  // namespace

ClusterFile make_cluster(const Scenario& scenario) {
  ErrorList errors;
  return cluster_of(scenario, errors);
}

ClusterFile load_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides) {
  Loading loading = load_around_cluster(path, workers, overrides);
  return cluster_of(loading.scenario, loading.errors);
}

}  // namespace simsgd
