#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/language/communication.hpp"
#include "scenarios/language/job_notes.hpp"
#include "scenarios/language/loading.hpp"
#include "scenarios/language/sections.hpp"
#include "scenarios/language/workload_section.hpp"
#include "sim/learn/model.hpp"
#include "sim/learn/optimizers/matrix_rule.hpp"

namespace simsgd {

namespace {

void check_learning(const Reader& reader, const Learner* learner) {
  if (learner == nullptr && reader.usable("/workload") && reader.value("/workload") == "self")
    reader.error("/workload", "is the learner's, and there is no learner",
                 "Add \"learner\", or use a workload file");
  if (!reader.usable("/target") || reader.value("/target").is_null()) return;
  if (learner == nullptr)
    reader.error("/target", "asks for a level of learning, and there is no learner",
                 "Add \"learner\", or remove it");
  else if (!learner->has_test() && reader.value("/target/metric") != "train_loss")
    reader.error("/target/metric", "needs test data, and the data set has none", "Use train_loss");
  else if (reader.value("/target/stop") == true && reader.value("/target/metric") != "train_loss" &&
           reader.usable("/record") && reader.value("/record/evaluate_every") == 0)
    reader.error("/target/stop", "asks to stop at a level that is only measured at the end",
                 "Set /record/evaluate_every to the steps between evaluations, or a time such as \"10 s\"");
}

/// What needs no other section.
void build_settings(const Reader& reader, Job& job) {
  job.name = reader.value("/name").is_string() ? reader.value("/name").get<std::string>() : "";
  if (reader.usable("/seed")) job.seed = reader.seed();
  if (reader.usable("/optimizer")) job.optimizer = build_optimizer(reader);
  if (reader.usable("/stop")) job.stop = build_stop(reader);
  if (reader.usable("/target")) job.target = build_target(reader);
  if (reader.usable("/record")) job.record = build_record(reader);
}

void build_machines(const Reader& reader, Job& job) {
  auto machines = build_cluster(reader);
  if (auto network = build_network(reader, machines ? &*machines : nullptr))
    job.network = std::move(*network);
  if (machines) job.cluster = std::move(machines->cluster);
}

void build_timing(const Reader& reader, Job& job) {
  const bool machines = job.workers() > 0;
  const WorkloadSetting setting{.device = machines ? &job.cluster.device : nullptr,
                                .learner = job.learner.get(),
                                .precision = job.network.precision};
  if (auto workload = build_workload(reader, setting, job.notes)) job.workload = std::move(*workload);
  build_island(reader, job);
}

/// What depends on the number of workers.
void build_training(const Reader& reader, int workers, KnownData* known, Job& job) {
  if (auto learner = build_learner(reader, workers, known)) {
    job.learner = std::move(*learner);
    if (job.learner) job.optimizer.rule = rule_of_model(job.optimizer.rule, job.learner->model().layers());
    check_learning(reader, job.learner.get());
  }
  const Cluster* cluster = job.workers() > 0 ? &job.cluster : nullptr;
  if (auto stragglers = build_stragglers(reader, workers, cluster)) job.stragglers = std::move(*stragglers);
  if (auto failures = build_failures(reader, workers)) job.failures = std::move(*failures);
}

/// Parts that an algorithm makes of a batch are passes of their own.
void check_parts(const Reader& reader, const Workload& workload) {
  const Json& algorithm = reader.value("/algorithm");
  if (!workload.step_law || !algorithm.contains("micro_batches")) return;
  const auto parts = algorithm["micro_batches"].get<int>();
  const double samples = static_cast<double>(workload.batch) / workload.micro_batches / parts;
  if (workload.step_law->holds(samples)) return;
  reader.error("/algorithm/micro_batches",
               fmt::format("makes parts of {}, beyond the {} that step_cost/times were measured with",
                           samples_text(samples), range_text(*workload.step_law)),
               "Use fewer, a larger batch, or measure more");
}

/// The graph and the algorithm, once everything that they may look at is there.
void build_method(const Reader& reader, Job& job) {
  if (!reader.usable("/cluster") || !reader.usable("/algorithm") || job.workload.layers.empty()) return;
  auto graph = build_graph(reader, job.workers());
  if (!graph) return;
  job.graph = std::move(*graph);
  build_algorithm(reader, job);
  check_parts(reader, job.workload);
  if (auto note = note_on_host_costs(job.cluster)) add_note(job.notes, std::move(*note));
  if (auto note = note_on_latency(job.cluster)) add_note(job.notes, std::move(*note));
}

}  // namespace

Job build_job(const Scenario& scenario, ErrorList& errors, KnownData* known) {
  const Reader reader(scenario, errors);
  Job job;
  build_settings(reader, job);
  check_workers(reader);
  const bool counted = reader.usable("/cluster/workers");
  build_machines(reader, job);
  if (counted) build_training(reader, reader.value("/cluster/workers").get<int>(), known, job);
  build_timing(reader, job);
  build_epochs(reader, job);
  check_durations(reader, job);
  check_length(reader, job);
  build_method(reader, job);
  if (errors.empty()) note_job(reader, job);
  return job;
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

bool depends_on_seed(const Scenario& scenario) {
  const Json& resolved = scenario.resolved;
  return !resolved["learner"].is_null() || resolved["algorithm"].contains("graph") ||
         resolved["cluster"]["placement"].is_object();
}

void reseed(Job& job, const Scenario& scenario) {
  ErrorList errors;
  const Reader reader(scenario, errors);
  job.seed = reader.seed();
  if (auto stragglers = build_stragglers(reader, job.workers(), &job.cluster))
    job.stragglers = std::move(*stragglers);
  const std::vector<Note> notes = job.notes;
  build_algorithm(reader, job);  // a plug-in may keep the seed
  job.notes = notes;
  errors.throw_if_any();
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
