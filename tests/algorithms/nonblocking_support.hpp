// What the tests of non-blocking SGD share: jobs whose full batch takes exactly 1 s at speed 1.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/cluster/stragglers/registry.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test {

/// One worker for each speed, on a network that costs nothing.
inline Job round_job(const std::vector<double>& speeds, const Json& parameters, std::uint64_t rounds,
                     Network network) {
  Job job = scripted_job(std::move(network), nullptr, 36);
  job.cluster.node_speed = speeds;
  job.workload.batch = 64;
  job.workload.layers.front().forward_s = 0.25;
  job.workload.layers.front().backward_s = 0.75;
  job.stop.steps = rounds;
  use_algorithm(job, "nonblocking", parameters);
  return job;
}

inline Job round_job(const std::vector<double>& speeds, const Json& parameters, std::uint64_t rounds) {
  return round_job(speeds, parameters, rounds, star(static_cast<int>(speeds.size()), 0, 1e30));
}

inline void add_straggler(Job& job, const Json& parameters) {
  job.stragglers.add(make_straggler(parameters, {.workers = job.workers()}));
}

/// The same parameters with some of them changed.
inline Json with(Json parameters, const Json& changes) {
  parameters.update(changes);
  return parameters;
}

}  // namespace simsgd::test
