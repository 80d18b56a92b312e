// What the profiles of a job's ranks show together: measurements, each worker's steps, the network. A file
// each, read by kineto::Events.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/printable.hpp"
#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/recorders/collective_records.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd::kineto {

// What one worker's part of a Kineto trace holds, event by event, and what becomes of it: its steps, its
// collectives, and the network that it trains.
//
// A kernel belongs to the step, the pass and the layer during which the host launched it (`correlation`), not
// to those during which it ran. The backward pass is what threads launch on which operators of autograd
// ("...Backward...") run; a "Sequence number" ties such an operator to the one of the forward pass.

inline constexpr double kMicroseconds_per_s = 1e6;

struct Span {
  double begin_us, end_us;
};

struct ProfilerStep {
  Span span;
  std::uint64_t number;
};

struct Kernel {
  double ts_us, dur_us;
  std::uint32_t correlation;  ///< 0: none
  std::uint32_t step = 0;     ///< its index, once it is known
};

struct Launch {
  double ts_us;
  std::uint32_t correlation, thread;
};

/// An operator that autograd knows: of the backward pass, or one that such a one belongs to.
struct Mark {
  double ts_us;
  std::uint32_t sequence, thread;
};

/// An operator with parameters, in the forward pass.
struct LayerMark {
  Span span;
  std::uint32_t sequence, thread, layer;  ///< layer: in Recording::kinds
  bool numbered;                          ///< whether there is a sequence number
};

struct Nccl {
  Span span;
  std::uint32_t correlation;
  double external_id;
  CollectiveRecord record;
};

/// A kind of layer: what its operator is called and what its parameters are.
struct LayerKind {
  RecordedLayer layer;  ///< activations: of the whole batch
  double batch = 0;     ///< the first size of its input
};

/// The layer that the operator is, none where it is another operator or its inputs' sizes are not those of
/// one.
std::optional<LayerKind> layer_of(const TraceEvent& event);

struct Recording {
  std::vector<ProfilerStep> steps;
  std::deque<Kernel> kernels;
  std::deque<Launch> launches;
  std::deque<Mark> forward, backward;
  std::set<std::uint32_t> backward_threads;
  std::deque<LayerMark> layers;
  std::vector<LayerKind> kinds;
  std::unordered_map<std::string, std::uint32_t> kind_numbers;  // by name and sizes; see Events::layer
  std::vector<Span> optimizer;
  std::vector<Nccl> nccl;

  /// By time, numbers or correlation, as the rest needs them.
  void sort();
  const Launch* launch_of(std::uint32_t correlation) const;
  /// The step during which an instant lies, by its place in `steps`; steps.size(): none.
  std::size_t step_at(double ts_us) const;
  /// The last operator of the backward pass that had begun on that thread; null: none.
  const Mark* backward_at(double ts_us, std::uint32_t thread) const;
};

/// What a worker did in one step, in seconds.
struct StepTimes {
  double step_s = 0;     ///< from its ProfilerStep's begin to the next one's, of the last one to its end
  double compute_s = 0;  ///< union of the intervals in which kernels other than NCCL's ran
  double communication_s = 0;          ///< the same of NCCL's kernels
  double exposed_communication_s = 0;  ///< the same, where no other kernel ran
  double backward_idle_s = 0;          ///< between two kernels of the backward pass, while none ran
};
/// The times of `recording.steps`, whose kernels learn their step.
std::vector<StepTimes> step_times(Recording& recording);

/// The network, from the steps of `of`, whose `times` these are; none where the recording shows none. Kernels
/// know their steps.
std::optional<RecordedWorkload> network(const Recording& recording, const std::vector<StepTimes>& times,
                                        const std::vector<bool>& of, ImportedFile& file);

// Takes the events of one Kineto file: what each of them is, and what is kept of it.

/// How often a kernel ran, and for how long, in us.
struct KernelTimes {
  std::uint64_t count = 0;
  double mean_us = 0, squares_us2 = 0;  // Welford's: the sum of squares about the mean
  void add(double us);
};

/// How events that end before they begin are called where they are counted.
extern const char* const kBackwards;

class Events final : public TraceSink {
 public:
  explicit Events(ImportedFile& file) : file_(file) {}
  void event(const TraceEvent& event, const TraceHead& head) override;
  /// After the last event: what is counted goes to the file. NCCL kernels without arguments take those of the
  /// operator that launched them, by its id, else by its thread and time.
  void finish();

  /// By worker: of PyTorch one, whose rank stands in the head; our own timelines may hold several.
  std::map<int, Recording> recordings;
  std::map<std::string, KernelTimes> kernels;  ///< by name

 private:
  void span(const TraceEvent& event, Recording& recording);
  void kernel(const TraceEvent& event, Recording& recording);
  void nccl(const TraceEvent& event, const NcclKernelName& name, Recording& recording);
  void launch(const TraceEvent& event, Recording& recording);
  void host(const TraceEvent& event, Recording& recording);
  bool layer(const TraceEvent& event, Recording& recording);
  std::uint32_t thread(const TraceId& id);
  void fill_from_operator(const Recording& recording, Nccl& nccl) const;

  ImportedFile& file_;
  std::array<std::size_t, 21> counts_ = {};     // by kind of event
  std::map<std::string, std::size_t> unknown_;  // categories
  std::map<std::pair<double, std::string>, std::uint32_t> threads_;
  std::pair<TraceId, std::uint32_t> last_thread_ = {};
  std::unordered_map<std::string, KernelTimes*> by_name_;
  std::string layer_key_;
  // What the host says of a collective while it launches it: record_param_comms, "nccl:all_reduce".
  struct Call {
    std::uint32_t thread;
    Span span;
    double external_id;
    CollectiveRecord told;
  };
  std::vector<Call> calls_;                    // in finish() by thread and begin
  std::map<double, std::size_t> by_external_;  // in calls_, of record_param_comms
};

// assumed: in a job's first steps connections are made, memory is taken and algorithms are chosen.
inline constexpr std::uint64_t kKinetoWarmUpSteps = 3;
inline constexpr const char* kSimulated = "simsgd";
inline int count_of(double number) { return number >= 1 && number < 0x1p24 ? static_cast<int>(number) : 0; }
inline std::vector<bool> used_steps(const Recording& recording, std::uint64_t warm_up, ImportedFile& file) {
  std::vector<bool> used(recording.steps.size(), true);
  const auto later = [&](const ProfilerStep& step) { return step.number >= warm_up; };
  if (std::ranges::none_of(recording.steps, later)) {
    if (!recording.steps.empty()) file.understand("files with only first steps, which may be warm-up");
    return used;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    used[i] = later(recording.steps[i]);
    if (!used[i]) file.understand("first steps of the job, which are warm-up; left out");
  }
  return used;
}

inline void count_outside(const Recording& recording, ImportedFile& file) {
  const std::size_t none = recording.steps.size();
  const auto outside =
      std::ranges::count_if(recording.kernels, [none](const Kernel& kernel) { return kernel.step == none; });
  if (none == 0)
    file.understand("workers whose trace has no steps (ProfilerStep)");
  else if (outside > 0)
    file.understand("kernels outside of steps", static_cast<std::size_t>(outside));
}

inline void add_kernels(const Events& events, const std::string& rank, ImportedFile& file) {
  for (const auto& [name, times] : events.kernels) {
    Measurement row{.quantity = "kernel_s",
                    .value = times.mean_us / kMicroseconds_per_s,
                    .samples = times.count,
                    .labels = {{"kernel", printable(name)}}};
    if (times.count > 1)
      row.deviation =
          std::sqrt(times.squares_us2 / static_cast<double>(times.count - 1)) / kMicroseconds_per_s;
    if (!rank.empty()) row.labels["rank"] = rank;
    file.add(std::move(row));
  }
}

class Ranks {
 public:
  /// Takes the events of one file, which are all read. `timed`: whether spans are times; else they tell the
  /// network alone.
  void take(Events& events, const TraceHead& head, ImportedFile& file, bool timed = true) {
    job_.workers = std::max(job_.workers, count_of(head.world_size));
    int rank = 0;
    for (auto& [worker, recording] : events.recordings) {
      const bool simulated = head.backend == kSimulated;
      rank = simulated ? worker : rank_of(head.rank);
      take(recording, head, rank, timed, file);
    }
    add_kernels(events, events.recordings.size() == 1 ? std::to_string(rank) : "", file);
    job_.add(file);
  }

  /// After the last file. A job of which nothing can be used is an error.
  void finish() {
    collectives_.finish();
    if (network_) network_file_->workload = std::move(network_);
    job_.finish();
  }

  /// The rank of a file that does not tell its own is the next one.
  int rank_of(double told) const {
    return told >= 0 && told < 0x1p24 ? static_cast<int>(told) : job_.free_rank();
  }

 private:
  void take(Recording& recording, const TraceHead& head, int rank, bool timed, ImportedFile& file) {
    check_steps(recording, rank, file);
    job_.ranks.insert(rank);
    const std::vector<StepTimes> times = step_times(recording);
    const std::vector<bool> used =
        used_steps(recording, head.backend == kSimulated ? 0 : kKinetoWarmUpSteps, file);
    for (std::size_t step = 0; timed && step < times.size(); ++step)
      if (used[step]) add_step(times[step], recording.steps[step].number, rank, file);
    if (timed) count_outside(recording, file);
    auto made = network(recording, times, used, file);
    for (Nccl& nccl : recording.nccl) add_collective(nccl, recording, used, rank, file);
    if (!made || (network_ && network_rank_ <= rank)) return;
    made->name = "recorded network";
    made->device = printable(head.device);
    network_ = std::move(made);
    network_file_ = &file;
    network_rank_ = rank;
  }

  void check_steps(const Recording& recording, int rank, const ImportedFile& file) {
    for (const ProfilerStep& step : recording.steps)
      if (!steps_seen_.insert({rank, step.number}).second)
        throw ConfigError({file.name(), "/traceEvents",
                           "holds ProfilerStep#" + std::to_string(step.number) + " of rank " +
                               std::to_string(rank) + " for the second time",
                           "", "Name the file of each rank, and of each part of a job, once"});
  }

  void add_step(const StepTimes& times, std::uint64_t number, int rank, ImportedFile& file) const {
    for (const auto& [quantity, value] : {std::pair{"step_s", times.step_s},
                                          {"compute_s", times.compute_s},
                                          {"communication_s", times.communication_s},
                                          {"communication_exposed_s", times.exposed_communication_s}})
      file.add({.quantity = quantity,
                .workers = job_.workers,
                .value = value,
                .labels = {{"rank", std::to_string(rank)}, {"step", std::to_string(number)}}});
    if (std::isfinite(times.compute_s)) file.steps.push_back({rank, number, times.compute_s});
  }

  void add_collective(Nccl& nccl, const Recording& recording, const std::vector<bool>& used, int rank,
                      ImportedFile& file) {
    CollectiveRecord& record = nccl.record;
    const auto step =
        std::ranges::find_if(recording.steps, [&](const auto& each) { return each.number == record.step; });
    if (record.in_step && !used[static_cast<std::size_t>(step - recording.steps.begin())])
      return file.understand("operations of first steps; left out");
    if (record.operation.empty() || std::isnan(record.bytes))
      return file.ignore("NCCL kernels of unknown operation or size");
    if (!(record.time_s > 0)) return file.ignore("collectives with a time of 0");
    record.rank = rank;
    collectives_.add(std::move(record));
  }

  RankFiles job_;
  CollectiveRecords collectives_;
  std::set<std::pair<int, std::uint64_t>> steps_seen_;
  std::optional<RecordedWorkload> network_;
  ImportedFile* network_file_ = nullptr;
  int network_rank_ = 0;
};

}  // namespace simsgd::kineto
