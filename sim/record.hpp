// What a run leaves behind: where every worker's time went, what it sent, and how well it learned. Filled by
// whoever runs the job (the simulation or a real run over MPI), turned into metrics and documents by
// results/document.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace simsgd {

/// What a worker's main thread does. At any instant it does exactly one of these, so they sum to its time.
enum class Activity : std::uint8_t {
  compute,        ///< forward and backward passes and the optimizer, at nominal speed
  straggle,       ///< what stragglers add to it
  selection,      ///< choosing the entries of a sparse gradient
  factor,         ///< products and factorisations of matrices beside the gradient
  inverse,        ///< inverting matrices
  host,           ///< launching, packing, staging copies and merging, where the worker waits for them
  communication,  ///< waiting for bytes that are on their way, or computing slower because they are (exposed)
  wait,           ///< waiting for others that have not arrived yet
};
inline constexpr std::size_t kActivities = 8;

/// What a message is for.
enum class Traffic : std::uint8_t { gradient, model, factor, inverse, control };
inline constexpr std::size_t kTraffics = 5;

std::string activity_name(Activity activity);  ///< as in metrics, without "_s": "communication_exposed"
std::string traffic_name(Traffic traffic);

/// How often a duration of some length occurred: ten bins per decade, of equal ratio, from 1 ns to 10^7 s.
/// A worker's durations are alike: it keeps the bins from the shortest to the longest.
struct Histogram {
  static constexpr std::int32_t kFirst = -90;  ///< bin k: from 10^(k/10) to below 10^((k+1)/10) seconds
  static constexpr std::int32_t kBins = 160;   ///< the last also counts what is longer
  std::uint64_t zero = 0;                      ///< below 1 ns
  std::int32_t first = kFirst;
  std::vector<std::uint64_t> counts;  ///< of bin first + i

  void add(double seconds);
};

/// Totals of one worker over the whole run, seconds.
struct WorkerTotals {
  std::uint64_t steps = 0;
  double end_s = 0;  ///< when its method returned: its last step, and what that one left under way
  std::array<double, kActivities> activity_s{};
  std::array<double, kTraffics> exposed_s{};  ///< splits activity_s[communication]
  std::array<double, kTraffics>
      overhead_s{};  ///< splits activity_s[communication] and [host], by collectives
  std::array<double, kTraffics> communication_s{};  ///< in progress, exposed or hidden
  std::array<double, kTraffics> bytes_sent{};
  double samples = 0;  ///< samples of the workload whose gradient was used
  double staleness_sum = 0, staleness_max = 0;
  std::uint64_t staleness_count = 0;
  /// The device was busy for so long with a step that the end of the run cut off: it counts for nothing else.
  double unfinished_busy_s = 0;
};

/// Time for which the worker's device was busy.
double busy_time_s(const WorkerTotals& worker);

/// What one worker did over the whole run.
struct WorkerRecord : WorkerTotals {
  Histogram step_wait, step_straggle;          ///< of activity_s[wait] and [straggle] in each step
  std::map<std::int32_t, std::uint64_t> ages;  ///< of staleness, in whole steps
};

/// One point of the learning curves.
struct SeriesPoint {
  std::uint64_t step = 0;  ///< completed steps
  double time_s = 0;       ///< when the last worker completed it
  /// Mean of the losses of all gradients that workers used in this step, a mini-batch's or a finished
  /// micro-batch's each; NaN without a learner.
  double train_loss = 0;
};

/// The models of all workers at one instant.
struct EvaluationPoint {
  std::uint64_t step =
      0;  ///< the round that is complete; by the clock and at the end, steps of each on average
  double time_s = 0;
  double test_loss = 0;
  double test_accuracy = 0;                 ///< of the mean of the models; NaN for a regression
  double consensus_distance = 0;            ///< sqrt(mean_i |x_i - mean|^2)
  std::vector<std::uint64_t> worker_steps;  ///< that each worker had completed
};

struct LinkRecord {
  std::string name;
  double bandwidth_Bps = 0;
  double bytes = 0;
  double price_usd_per_byte = 0;
};

/// How one kind of collective was costed, and why.
struct FidelityRecord {
  std::string operation;  ///< "all_reduce by ring among 8"
  std::string fidelity;
  std::string reason;
  bool exact = true;
  std::uint64_t count = 0;
  bool operator==(const FidelityRecord&) const = default;
};

/// What an algorithm decided (fusion groups, a placement), as a table for people and for reports.
struct RecordTable {
  using Cell = std::variant<double, std::string>;
  std::string name;                  ///< "factor_groups"
  std::vector<std::string> columns;  ///< with units, where they have one
  std::vector<std::vector<Cell>> rows;
};

struct RunRecord {
  std::vector<WorkerRecord> workers;
  /// Of every worker and step, or an even sample of them (at most 2^20) that has the longest in it.
  std::vector<double> step_times_s;
  std::vector<SeriesPoint> series;
  std::vector<EvaluationPoint> evaluations;
  std::vector<LinkRecord> links;  ///< those that carried bytes
  std::vector<FidelityRecord> fidelities;
  double end_s = 0;  ///< the instant at which the run was over
  std::uint64_t events = 0;
  std::string clock = "simulated";      ///< or "wall"
  std::map<std::string, double> extra;  ///< further metrics by name, from plug-ins
  std::vector<RecordTable> tables;      ///< of rank 0, in the order in which they were noted
};

// The closed lists of what a worker does and of what messages are for, each said once: documents, metrics,
// summaries and timelines are made from these tables.

struct ActivityInfo {
  Activity activity;
  const char* name;        ///< its metric is "<name>_s"
  const char* label;       ///< in summaries
  const char* definition;  ///< a sentence that begins with "Per step: ", without these words
  bool occupies_device;
  bool of_every_method;  ///< others are those of methods that declare them (AlgorithmUses)
};
/// In the order of the enumeration.
const std::array<ActivityInfo, kActivities>& activities();

/// The device works at its own pace: communication beside it slows it, and a crash loses it.
bool occupies_device(Activity activity);

struct TrafficInfo {
  Traffic traffic;
  const char* name;    ///< its metrics are "<name>_communication_exposed_s", ...
  const char* plural;  ///< in definitions: "gradients"
};
/// In the order of the enumeration.
const std::array<TrafficInfo, kTraffics>& traffics();

/// The metrics of one of them: "communication_exposed_s", "gradient_communication_hidden_s".
std::string activity_metric(Activity activity);
std::string exposed_metric(Traffic traffic);
std::string hidden_metric(Traffic traffic);

}  // namespace simsgd
