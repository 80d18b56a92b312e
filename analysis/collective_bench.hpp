// Collectives by themselves, over a range of sizes: what nccl-tests measures on real machines, and in its
// table and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/runner.hpp"
#include "sim/job.hpp"

namespace simsgd {

struct BenchSettings {
  CollectiveOp op = CollectiveOp::all_reduce;
  CollectivePolicies collectives;  ///< of the cluster
  std::string schedule;            ///< instead of what they say; "" leaves it to them
  Fidelity fidelity = Fidelity::automatic;
  std::vector<double> sizes_bytes;  ///< of the whole array, as nccl-tests counts them
  /// Averaged. They follow one another, as in nccl-tests: where the cluster's stack negotiates, each is
  /// handed over when the one before has ended, the first at a tick. Without that only jitter makes a
  /// difference between them.
  int iterations = 20;
  Distribution jitter{Distribution::Kind::constant, 0, 0, 1, {}, {}};
  std::uint64_t seed = 1;
};

struct BenchRow {
  double bytes = 0;  ///< of the whole array
  double count =
      0;  ///< elements of 4 bytes that each rank gives (all-gather) or gets (reduce-scatter), else all
  double time_s = 0;  ///< from a common start to the last end, the wait for a tick and agreement included
  double algorithm_Bps = 0;  ///< bytes / time
  double bus_Bps = 0;        ///< algorithm_Bps times what a bandwidth-optimal algorithm moves per byte
  std::vector<Interval> intervals{};  ///< of time_s, on a calibrated cluster
};

struct BenchResult {
  std::vector<BenchRow> rows;
  std::string fidelity, reason;  ///< of the first size
  bool exact = true;
  std::vector<Note> notes;  ///< what the times leave out
};

/// Costs the schedule alone where `closed` or `steps` are chosen (any number of ranks); simulates it
/// otherwise (one process once). Throws RunError.
BenchResult bench_collective(const Cluster& cluster, const BenchSettings& settings);

/// The same on the cluster of a scenario (load_around_cluster): where it was calibrated, rows have intervals,
/// made as those of runs are. `settings.collectives` are taken from it.
BenchResult bench_with_intervals(const Scenario& scenario, BenchSettings settings,
                                 const IntervalSettings& intervals);

/// nccl-tests' table, and its JSON (-J); `arguments` is the command line as it was typed.
std::string nccl_table(const BenchSettings& settings, const Cluster& cluster, const BenchResult& result);
nlohmann::ordered_json nccl_json(const BenchSettings& settings, const Cluster& cluster,
                                 const BenchResult& result, const std::string& arguments);

}  // namespace simsgd
