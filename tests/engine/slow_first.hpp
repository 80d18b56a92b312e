// A job of eight workers of which one is slow, as tests of the end of runs share it.
#pragma once

#include <string>
#include <vector>

#include "sim/engine/simulate.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/jobs.hpp"

namespace simsgd::test::engine {

/// One ResNet-like layer of 0.25 s, 8 workers, the first of them so much slower.
inline Job slow_first(const std::string& algorithm, double factor, const Json& parameters = Json::object()) {
  Job job = scripted_job(star(8, 1e-6, 12.5e9), nullptr, 25e6);
  job.workload.layers.front().forward_s = 0.08;
  job.workload.layers.front().backward_s = 0.17;
  job.workload.batch = 64;
  job.cluster.node_speed = {1 / factor, 1, 1, 1, 1, 1, 1, 1};
  if (algorithm == "ad_psgd") job.graph = graph_of("ring", 8);
  use_algorithm(job, algorithm, parameters);
  return job;
}

}  // namespace simsgd::test::engine
