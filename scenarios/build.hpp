// The builders: one section of a scenario each, from validated JSON to the structs of a job. They report what
// a schema cannot say, and return nothing where the section cannot be built.
#pragma once

#include <memory>
#include <optional>

#include "scenarios/reader.hpp"
#include "sim/job.hpp"

namespace simsgd {

std::optional<Cluster> build_cluster(const Reader& reader);

/// Null without a learner.
std::optional<std::unique_ptr<const Learner>> build_learner(const Reader& reader, int workers);

/// The graph that the algorithm asks for; an empty one if it asks for none.
std::optional<LogicalGraph> build_graph(const Reader& reader, int workers);

OptimizerSpec build_optimizer(const Reader& reader);
/// `cluster`: null where it is wrong; then nodes are not known.
std::optional<Stragglers> build_stragglers(const Reader& reader, int workers, const Cluster* cluster);
std::optional<FailureModel> build_failures(const Reader& reader, int workers);
std::optional<NetworkSettings> build_network(const Reader& reader);
/// Changes the links that the section "network" says are slow.
void build_slow_links(const Reader& reader, Cluster& cluster);
StopRule build_stop(const Reader& reader);
Target build_target(const Reader& reader);

/// What a workload's times and sizes depend on.
struct WorkloadSetting {
  const Device* device =
      nullptr;  ///< null where the cluster is wrong: then only the workload's own errors are found
  const Learner* learner = nullptr;  ///< for "workload": "self"
  Precision precision = Precision::fp32;
  bool momentum = false;  ///< whether the optimizer keeps a velocity
};
/// `notes` receives where its times are not measurements.
std::optional<Workload> build_workload(const Reader& reader, const WorkloadSetting& setting,
                                       std::vector<Note>& notes);

}  // namespace simsgd
