#include <fmt/format.h>

#include "algorithms/registry.hpp"
#include "scenarios/build.hpp"
#include "scenarios/job_notes.hpp"
#include "scenarios/loading.hpp"

namespace simsgd {

namespace {

void check_workers(const Reader& reader) {
  if (!reader.usable("/cluster") || reader.value("/cluster/workers") <= kMostWorkers) return;
  reader.error(
      "/cluster/workers", fmt::format("is more than the {} workers that a run can have", kMostWorkers),
      "Every worker is an actor of the simulation and takes two of the 65,530 memory maps of a process "
      "(vm.max_map_count); simsgd bench costs schedules for more");
}

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
                 "Set /record/evaluate_every to the steps between evaluations");
}

std::unique_ptr<const Algorithm> make_algorithm(const Parameters& parameters,
                                                const AlgorithmContext& context) {
  for (const AlgorithmPlugin& plugin : algorithm_plugins())
    if (plugin.info.name == parameters.text("name")) return plugin.make(parameters, context);
  Parameters::reject("name", "is no algorithm", "Choose one of `simsgd list algorithms`");
}

/// What needs no other section.
void build_settings(const Reader& reader, Job& job) {
  job.name = reader.value("/name").is_string() ? reader.value("/name").get<std::string>() : "";
  if (reader.usable("/seed")) job.seed = reader.seed();
  if (reader.usable("/optimizer")) job.optimizer = build_optimizer(reader);
  if (auto network = build_network(reader)) job.network = std::move(*network);
  if (reader.usable("/stop")) job.stop = build_stop(reader);
  if (reader.usable("/target")) job.target = build_target(reader);
  if (reader.usable("/record")) {
    const Parameters record = reader.parameters("/record");
    job.record = {static_cast<std::uint64_t>(record.integer("evaluate_every")),
                  static_cast<std::uint64_t>(record.integer("timeline_events"))};
  }
}

void build_timing(const Reader& reader, const Device* device, Job& job) {
  auto workload = build_workload(reader,
                                 {.device = device,
                                  .learner = job.learner.get(),
                                  .precision = job.network.precision,
                                  .momentum = job.optimizer.momentum > 0},
                                 job.notes);
  if (workload) job.workload = std::move(*workload);
}

/// What depends on the number of workers.
void build_training(const Reader& reader, int workers, const Cluster* cluster, Job& job) {
  if (auto learner = build_learner(reader, workers)) {
    job.learner = std::move(*learner);
    check_learning(reader, job.learner.get());
  }
  if (auto stragglers = build_stragglers(reader, workers, cluster)) job.stragglers = std::move(*stragglers);
  if (auto failures = build_failures(reader, workers)) job.failures = std::move(*failures);
}

/// Once everything that it may look at is there.
void build_algorithm(const Reader& reader, Job& job) {
  if (!reader.usable("/cluster") || !reader.usable("/algorithm") || job.workload.layers.empty()) return;
  auto graph = build_graph(reader, job.workers());
  if (!graph) return;
  job.graph = std::move(*graph);
  auto algorithm = reader.attempt("/algorithm", [&] {
    return make_algorithm(reader.parameters("/algorithm"), {.workers = job.workers(),
                                                            .workload = &job.workload,
                                                            .seed = job.seed,
                                                            .cluster = &job.cluster,
                                                            .graph = &job.graph,
                                                            .learner = job.learner.get()});
  });
  if (algorithm) job.algorithm = std::move(*algorithm);
}

}  // namespace

Job build_job(Loading& loading) {
  const Reader reader(loading.scenario, loading.errors);
  Job job;
  build_settings(reader, job);
  check_workers(reader);
  const bool counted = reader.usable("/cluster/workers");
  auto cluster = build_cluster(reader);
  if (cluster) job.cluster = std::move(*cluster);
  if (cluster) build_slow_links(reader, job.cluster);
  if (counted)
    build_training(reader, reader.value("/cluster/workers").get<int>(), cluster ? &job.cluster : nullptr,
                   job);
  build_timing(reader, cluster ? &job.cluster.device : nullptr, job);
  build_algorithm(reader, job);
  if (loading.errors.empty()) note_job(reader, job);
  return job;
}

Job make_job(const Scenario& scenario) {
  Loading loading{scenario, {}};
  Job job = build_job(loading);
  loading.errors.throw_if_any();
  return job;
}

namespace {

/// A cluster file, as a scenario of nothing else; a scenario or study as it is.
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

}  // namespace

Cluster load_cluster(const std::string& path, std::optional<int> workers, const Overrides& overrides) {
  Loading loading = load_around_cluster(path, workers, overrides);
  const Reader reader(loading.scenario, loading.errors);
  std::optional<Cluster> cluster = build_cluster(reader);
  // What is missing or wrong in other sections is no error here.
  loading.errors.throw_if_any("/cluster");
  return std::move(*cluster);
}

}  // namespace simsgd
