// A job: everything that a run needs, as plain data. scenarios/ makes it from a file; engine and measure run
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/algorithm.hpp"
#include "sim/base/fields.hpp"
#include "sim/base/notes.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/cluster/failures.hpp"
#include "sim/cluster/stragglers.hpp"
#include "sim/learn/codec.hpp"
#include "sim/learn/learner.hpp"
#include "sim/learn/optimizer.hpp"
#include "sim/logical_graph.hpp"
#include "sim/stacks/policy.hpp"
#include "sim/workload.hpp"

namespace simsgd {

/// Format of numbers in messages. Contributions are rounded to it when they are sent; sums are fp32.
enum class Precision : std::uint8_t { fp32, fp16, bf16 };

struct NetworkSettings {
  Fidelity fidelity = Fidelity::automatic;
  Precision precision = Precision::fp32;
  Coding coding;  ///< without a codec all travels in `precision`
  /// How the library does each operation; without one by its default schedule. docs/model.md, "Schedules".
  CollectivePolicies collectives;
  /// Extra latency of each message, seconds; keyed by sender, so independent of fidelity and order.
  Distribution jitter{Distribution::Kind::constant, 0, 0, 1, {}, {}};
  bool has_jitter() const {
    return jitter.kind != Distribution::Kind::constant || jitter.scale + jitter.shift != 0;
  }
};

/// When the run ends: at the first of these instants, and what is not completed then does not count.
struct StopRule {
  /// For each worker, completed by all together; none does more where they need each other
  /// (Algorithm::needs_others).
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  double time_s = std::numeric_limits<double>::infinity();
  double samples =
      std::numeric_limits<double>::infinity();  ///< of the workload, used by all workers together
};

/// A level that a run is asked to reach; gives `time_to_target_s`.
struct Target {
  enum class Metric : std::uint8_t { none, train_loss, test_loss, test_accuracy } metric = Metric::none;
  double value = 0;
  bool stop = false;  ///< end the run at the instant at which it is reached
  /// The mean over so many steps (train_loss) or evaluations must reach it: the loss of one step is that of
  /// its samples alone, and one evaluation may be lucky.
  std::uint64_t window = 1;

  void fields(Fields& f) {
    f.choice("metric", metric,
             {{"train_loss", Metric::train_loss},
              {"test_loss", Metric::test_loss},
              {"test_accuracy", Metric::test_accuracy}},
             "The metric that must reach the value")
        .required();
    f.number("value", value,
             "The target is reached at this loss or below, or at this accuracy or above (0.86 is 86 %)")
        .required();
    f.whole("window", window,
            "The mean over this many steps (train_loss) or evaluations must reach the value")
        .at_least(1);
    f.flag("stop", stop, "Whether the run ends as soon as the target is reached");
  }
};

struct RecordSettings {
  /// Steps between evaluations on the test set, counted as StopRule counts them; 0: by the clock, or only at
  /// the end.
  std::uint64_t evaluate_every = 0;
  double evaluate_every_s = 0;        ///< the same in simulated time; 0: by steps
  std::uint64_t timeline_events = 0;  ///< at most this many events in the timeline; 0: no timeline
};

struct Job {
  std::string name;
  std::uint64_t seed = 1;
  Cluster cluster;
  Workload workload;
  std::unique_ptr<const Learner> learner;  ///< null: time only
  OptimizerSpec optimizer;
  std::unique_ptr<const Algorithm> algorithm;
  Stragglers stragglers;
  FailureModel failures;
  std::vector<MemoryPart> memory;  ///< that the algorithm needs of each GPU
  LogicalGraph graph;              ///< of algorithms that ask for one; else empty
  NetworkSettings network;
  StopRule stop;
  Target target;
  RecordSettings record;
  std::vector<Note> notes;  ///< on the scenario, known before the run
  /// Of jobs before this one on the same machines, for those that come after it; null: none are kept.
  std::shared_ptr<KnownPlans> known_plans;

  int workers() const { return cluster.workers(); }
  /// The algorithm's own, or the network's.
  const Coding& coding() const {
    const Coding* own = algorithm ? algorithm->coding() : nullptr;
    return own ? *own : network.coding;
  }
};

}  // namespace simsgd
