// The table of algorithms: one line each, nothing registers itself.
#pragma once

#include <memory>
#include <vector>

#include "sim/algorithm.hpp"
#include "sim/base/notes.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/learn/learner.hpp"
#include "sim/parameters.hpp"
#include "sim/plugin.hpp"

namespace simsgd {

/// What an algorithm may check its parameters against before the run.
struct AlgorithmContext {
  int workers = 1;
  const Workload* workload = nullptr;
  std::uint64_t seed = 1;
  const Cluster* cluster = nullptr;     ///< device and host costs; null in tests that need none
  const LogicalGraph* graph = nullptr;  ///< the scenario's graph of workers, if the algorithm has one
  const Learner* learner = nullptr;     ///< null where only time is simulated
  std::vector<Note>* notes = nullptr;   ///< receives what the result will leave out; null: nobody asks
};

struct AlgorithmPlugin {
  PluginInfo info;
  std::string bytes;  ///< what one step sends, as a formula for people
  std::unique_ptr<const Algorithm> (*make)(const Parameters&, const AlgorithmContext&);
};

const std::vector<AlgorithmPlugin>& algorithm_plugins();

}  // namespace simsgd
