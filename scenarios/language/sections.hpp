// The sections of a scenario, each in a file of its own: its struct with its fields, from which comes its
// schema, and its builder, from validated JSON to the structs of a job. Builders report what a schema cannot
// say, and return nothing where the section cannot be built.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/plugin.hpp"
#include "scenarios/language/reader.hpp"
#include "scenarios/language/scenario.hpp"
#include "sim/job.hpp"
#include "sim/stacks/stack.hpp"

namespace simsgd {

namespace schema {
Json cluster();
Json workload();
Json learner();
Json optimizer();
Json algorithm();
Json stragglers();
Json failures();
Json network();
Json stop();
Json target();
Json record();
Json expected();
Json axes();
Json exclude();
Json seeds();
Json circumstances();
Json claim();
}  // namespace schema

// Defaults that a rule gives, once a section is known to be right.
void complete_cluster(Json& json);
void complete_workload(Json& json);
/// `stop`: the section of that name; null where it is wrong.
void complete_optimizer(Json& json, const Json& stop);

// Defaults that a plug-in's rule gives (Options::complete), once the job is there.
/// Of the topology, of the stack, and of collectives in "network", which do as the cluster says.
void complete_machines(Json& cluster, Json& network);
void complete_learner(Json& learner, const Job& job);
void complete_algorithm(Json& algorithm, const Scenario& scenario, const Job& job);

/// How the section "cluster" has each operation done, by name.
Json standing_policies(const Json& cluster);

struct Machines {
  Cluster cluster;
  std::optional<Stack> stack;  ///< what the library says that the cluster has not taken over: its policies
};
std::optional<Machines> build_cluster(const Reader& reader);

/// Null without a learner. `known`: data that were read before, of any seed.
std::optional<std::unique_ptr<const Learner>> build_learner(const Reader& reader, int workers,
                                                            KnownData* known = nullptr);

/// All training methods that a scenario may name: the program's own, methods in Python, and those of
/// libraries (algorithms/loaded_algorithms.hpp). Throws ConfigError where a library cannot be used.
const std::vector<AlgorithmPlugin>& training_methods();

/// The graph that the algorithm asks for; an empty one if it asks for none.
std::optional<LogicalGraph> build_graph(const Reader& reader, int workers);

/// What the GPUs of a worker exchange among themselves, added to the workload; once that and the network are
/// there.
void build_island(const Reader& reader, Job& job, std::vector<Note>& notes);
/// Of what a worker needs, what each of its GPUs does.
void share_memory(Job& job);

/// Once everything that it may look at is in the job; where the cluster is wrong it only finds errors.
void build_algorithm(const Reader& reader, int workers, Job& job);

OptimizerSpec build_optimizer(const Reader& reader);
/// `cluster`: null where it is wrong; then nodes are not known.
std::optional<Stragglers> build_stragglers(const Reader& reader, int workers, const Cluster* cluster);
std::optional<FailureModel> build_failures(const Reader& reader, int workers);
/// With what the cluster says of collectives; changes its links that are slow. `machines`: null where the
/// cluster is wrong.
std::optional<NetworkSettings> build_network(const Reader& reader, Machines* machines);
StopRule build_stop(const Reader& reader);
/// "stop": {"epochs": E}, once learner and workload are there.
void build_epochs(const Reader& reader, Job& job);
RecordSettings build_record(const Reader& reader);
Target build_target(const Reader& reader);

// What a run may cost (bounds.cpp).
void check_workers(const Reader& reader);
/// Whether the data can be made.
bool check_data_size(const Reader& reader);
void check_learner_size(const Reader& reader, const Learner& learner, int workers);
void check_durations(const Reader& reader, const Job& job);
void check_length(const Reader& reader, const Job& job);

/// What a workload's times and sizes depend on.
struct WorkloadSetting {
  const Device* device = nullptr;    ///< null where the cluster is wrong: then the workload has no times
  const Learner* learner = nullptr;  ///< for "workload": "self"
  Precision precision = Precision::fp32;
};
/// `notes` receives where its times are not measurements, and what they leave out.
std::optional<Workload> build_workload(const Reader& reader, const WorkloadSetting& setting,
                                       std::vector<Note>& notes);

}  // namespace simsgd
