// horovod: the timeline that Horovod's coordinator writes (HOROVOD_TIMELINE), a list of Chrome events whose
// end is often not written. A tensor is a pid; NEGOTIATE_ALLREDUCE holds a tick of each rank when its
// gradient is ready, ALLREDUCE the queue, copies into and out of the fusion buffer, and the library's
// operation. Tensors that are fused go through the latter together: they are one operation, of the sum of
// their sizes.
//   https://github.com/horovod/horovod, horovod/common/timeline.cc (v0.28); docs/timeline.rst
// All ticks are by the coordinator's clock, and as exact as its cycle (HOROVOD_CYCLE_TIME, 1 ms).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/printable.hpp"
#include "sim/base/quantiles.hpp"
#include "traces/import.hpp"
#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/reading/input.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd::importers {

namespace {

/// One operation of one tensor.
struct TensorOperation {
  std::size_t tensor = 0;
  std::string operation, library;                   ///< library: "nccl", "mpi", "gloo"
  double begin_us = kNotGiven, end_us = kNotGiven;  ///< of the library's part
  double bytes = kNotGiven;
  double ended_us = kNotGiven;     ///< with the copies
  std::uint64_t occurrence = 0;    ///< of the tensor, from 0
  std::map<int, double> ticks_us;  ///< when each rank was ready
};

struct ActivityTimes {
  std::uint64_t count = 0;
  double mean_us = 0;
};

struct Step {
  double end_us = kNotGiven;       ///< of its last operation
  std::map<int, double> ready_us;  ///< when the last gradient of each rank was
};

constexpr double kTicks_per_s = 1e6;
constexpr std::size_t kMostActivities = 256;
constexpr std::size_t kDeepest = 16;  // spans of a tensor inside one another
constexpr std::string_view kNegotiation = "NEGOTIATE_";

enum Kind : std::size_t {
  kTick,
  kSpan,
  kTensorName,
  kTrackOrder,
  kCycle,
  kUnfinished,
  kNoTime,
  kBackwards,
  kNotOpen,
  kOther,
  kKindCount
};

constexpr CountedKind kCounted[kKindCount] = {{"events used: ticks of ranks whose tensor is ready"},
                                              {"events used: begins and ends of operations and activities"},
                                              {"events used: names of tensors"},
                                              {"events left out: orders of tracks"},
                                              {"events left out: begins of cycles"},
                                              {"events left out: begins without an end"},
                                              {"events without a time", false},
                                              {"events that end before they begin", false},
                                              {"events that end what has not begun", false},
                                              {"events of no known kind", false}};

// "[64, 3, 7, 7]"; empty where it is not read. A scalar, "[]", has one element.
std::vector<double> sizes_of(std::string_view shape) {
  if (!shape.starts_with('[') || !shape.ends_with(']')) return {};
  std::vector<double> sizes;
  if (!read_list(shape, sizes, ',')) return {};
  for (const double size : sizes)
    if (size < 0 || size > 0x1p40) return {};
  if (sizes.empty()) sizes.push_back(1);
  return sizes;
}

double shape_elements(std::string_view shape) {
  const std::vector<double> sizes = sizes_of(shape);
  double elements = sizes.empty() ? kNotGiven : 1;
  for (const double size : sizes) elements *= size;
  return elements;
}

// "nccl" of "NCCL_ALLREDUCE"; empty where an activity is not the library's.
std::string library_of(std::string_view activity) {
  for (const auto& [prefix, name] :
       {std::pair{"NCCL_", "nccl"}, {"MPI_", "mpi"}, {"GLOO_", "gloo"}, {"CCL_", "ccl"}, {"DDL_", "ddl"}})
    if (activity.starts_with(prefix)) return name;
  return "";
}

double median_of(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

double first_tick(const TensorOperation& operation) {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& [rank, us] : operation.ticks_us) first = std::min(first, us);
  return first;
}

/// What the timeline tells of each tensor, operation by operation, and of the steps that they make up.
class Timeline final : public TraceSink {
 public:
  void event(const TraceEvent& event, const TraceHead&) override {
    const bool cycle = event.name == "CYCLE_START" || event.phase == 'i';
    if (cycle) return void(++counts_[kCycle]);
    if (std::isnan(event.pid.number)) return void(++counts_[kOther]);
    const auto [known, added] = tensor_of_.emplace(event.pid.number, tensors_.size());
    if (added) tensors_.emplace_back();
    Tensor& tensor = tensors_[known->second];
    tensor.now.tensor = known->second;
    if (event.phase == 'M') {
      const bool name = event.name == "process_name";
      if (name) tensor.name = event.called;
      return void(++counts_[name ? kTensorName : kTrackOrder]);
    }
    if (std::isnan(event.ts_us)) return void(++counts_[kNoTime]);
    if (event.phase == 'B') return begin(event, tensor);
    if (event.phase == 'E') return end(event, tensor);
    int rank = 0;
    const bool tick = event.phase == 'X' && read_count(event.name, 0, rank) && !tensor.open.empty() &&
                      tensor.open.back().name.starts_with(kNegotiation) && rank < (1 << 24);
    ++counts_[tick ? kTick : kOther];
    if (!tick) return;
    tensor.now.ticks_us[rank] = event.ts_us;
    ranks_ = std::max(ranks_, rank + 1);
  }

  /// After the last event: counts.
  void finish(ImportedFile& file) {
    std::size_t unfinished = 0;
    for (const Tensor& tensor : tensors_) unfinished += tensor.open.size();
    counts_[kUnfinished] = unfinished;
    counts_[kSpan] -= unfinished;
    file.count(kCounted, counts_);
  }

  const std::deque<TensorOperation>& operations() const { return operations_; }
  const std::map<std::string, ActivityTimes>& activities() const { return activities_; }
  int ranks() const { return ranks_; }
  /// A step reduces each gradient once: those tensors that are reduced as often as most are.
  std::vector<Step> steps(ImportedFile& file) const {
    const std::uint64_t count = usual_count();
    std::vector<Step> steps;
    std::size_t others = 0;
    for (const TensorOperation& operation : operations_) {
      if (!is_gradient(operation, count)) {
        ++others;
        continue;
      }
      if (operation.occurrence >= steps.size()) steps.resize(operation.occurrence + 1);
      Step& step = steps[operation.occurrence];
      step.end_us = std::fmax(step.end_us, operation.ended_us);
      for (const auto& [rank, us] : operation.ticks_us) {
        const auto [ready, first] = step.ready_us.emplace(rank, us);
        if (!first) ready->second = std::max(ready->second, us);
      }
    }
    if (others > 0) file.understand("operations that do not occur in every step", others);
    return steps;
  }

  /// Tensors as layers, from the steps from `first` on.
  std::optional<RecordedWorkload> network(std::uint64_t first, const ImportedFile& file) const {
    const std::uint64_t count = usual_count();
    if (count < 2) return std::nullopt;
    ReadyTimes times = ready_times(count <= first ? 1 : first, count);
    std::vector<std::pair<double, std::size_t>> order;
    // The gradient that is ready last is the first layer's.
    double backward_us = 0;
    for (const auto& [tensor, places] : times.places) order.emplace_back(-median_of(places), tensor);
    for (const auto& [tensor, since_us] : times.since_us) backward_us += median_of(since_us);
    std::ranges::sort(order);
    const double forward_us = median_of(times.before_us);
    RecordedWorkload made;
    made.name = "recorded network";
    made.batch = file.constants().batch;
    made.source = fmt::format(
        "{}: tensors by when their gradients are ready, as exact as Horovod's cycle; assumed: what comes before the first gradient is the forward pass, shared as the backward pass is",
        file.name());
    for (const auto& [place, tensor] : order) {
      const std::vector<double> sizes = sizes_of(tensors_[tensor].shape);
      const double elements = shape_elements(tensors_[tensor].shape);
      if (!(elements >= 1)) continue;
      const double own_us = median_of(times.since_us[tensor]);
      const double share = backward_us > 0 ? own_us / backward_us : 1.0 / static_cast<double>(order.size());
      RecordedLayer layer;
      layer.name = printable(tensors_[tensor].name);
      layer.tensors = {sizes.size() > 1 ? std::vector<double>{sizes[0], elements / sizes[0]} : sizes};
      layer.backward_s = own_us / kTicks_per_s;
      layer.forward_s = forward_us * share / kTicks_per_s;
      made.layers.push_back(std::move(layer));
    }
    if (made.layers.empty()) return std::nullopt;
    return made;
  }

 private:
  struct Open {
    std::string name;
    double begin_us;
  };
  struct Tensor {
    std::string name, shape;
    std::vector<Open> open;
    TensorOperation now;
    std::uint64_t occurrences = 0;
  };

  /// Over steps: by tensor, when its gradient was ready after the one before it, and its place in that order;
  /// and when the first of a step was, after the step before.
  struct ReadyTimes {
    std::map<std::size_t, std::vector<double>> since_us, places;
    std::vector<double> before_us;
  };

  ReadyTimes ready_times(std::uint64_t first, std::uint64_t count) const {
    // By step: the end of the one before, and when each tensor was ready.
    std::vector<double> ended_us(count, kNotGiven);
    std::vector<std::vector<std::pair<double, std::size_t>>> ready_us(count);
    for (const TensorOperation& operation : operations_) {
      if (!is_gradient(operation, count) || tensors_[operation.tensor].occurrences != count) continue;
      ended_us[operation.occurrence] = std::fmax(ended_us[operation.occurrence], operation.ended_us);
      if (!operation.ticks_us.empty())
        ready_us[operation.occurrence].emplace_back(first_tick(operation), operation.tensor);
    }
    ReadyTimes times;
    for (std::uint64_t step = first; step < count; ++step) {
      auto& ready = ready_us[step];
      std::ranges::sort(ready);
      if (!ready.empty()) times.before_us.push_back(std::max(0.0, ready[0].first - ended_us[step - 1]));
      for (std::size_t i = 0; i < ready.size(); ++i) {
        times.since_us[ready[i].second].push_back(i == 0 ? 0 : ready[i].first - ready[i - 1].first);
        times.places[ready[i].second].push_back(static_cast<double>(i));
      }
    }
    return times;
  }

  void begin(const TraceEvent& event, Tensor& tensor) {
    if (tensor.open.size() == kDeepest) return void(++counts_[kOther]);
    ++counts_[kSpan];
    if (event.name.starts_with(kNegotiation)) tensor.now.ticks_us.clear();
    if (tensor.open.empty()) {
      tensor.now.operation =
          operation_from(std::string_view(event.name)
                             .substr(event.name.starts_with(kNegotiation) ? kNegotiation.size() : 0));
      tensor.now.begin_us = tensor.now.end_us = kNotGiven;
    }
    tensor.open.push_back({event.name, event.ts_us});
  }

  void end(const TraceEvent& event, Tensor& tensor) {
    if (tensor.open.empty()) return void(++counts_[kNotOpen]);
    const Open open = std::move(tensor.open.back());
    tensor.open.pop_back();
    if (event.ts_us < open.begin_us) return void(++counts_[kBackwards]);
    ++counts_[kSpan];
    if (activities_.size() < kMostActivities || activities_.contains(open.name)) {
      ActivityTimes& times = activities_[open.name];
      times.mean_us += (event.ts_us - open.begin_us - times.mean_us) / static_cast<double>(++times.count);
    }
    const std::string library = library_of(open.name);
    if (!tensor.open.empty() && !library.empty()) {
      TensorOperation& now = tensor.now;
      now.begin_us = std::fmin(now.begin_us, open.begin_us);  // a number beats one that is not given
      now.end_us = std::fmax(now.end_us, event.ts_us);
      now.library = library;
    }
    if (tensor.open.empty() && !open.name.starts_with(kNegotiation)) close(event, tensor);
  }

  void close(const TraceEvent& event, Tensor& tensor) {
    if (!event.shape.empty()) tensor.shape = event.shape;
    tensor.now.bytes = shape_elements(event.shape) * type_bytes(event.dtype);
    if (!(tensor.now.bytes > 0)) tensor.now.bytes = kNotGiven;
    tensor.now.ended_us = event.ts_us;
    tensor.now.occurrence = tensor.occurrences++;
    operations_.push_back(tensor.now);
    tensor.now.ticks_us.clear();
  }

  std::uint64_t usual_count() const {
    std::map<std::uint64_t, std::size_t> tensors;
    for (const Tensor& tensor : tensors_)
      if (tensor.now.operation == "all_reduce" && tensor.occurrences > 0) ++tensors[tensor.occurrences];
    std::uint64_t usual = 0;
    std::size_t most = 0;
    for (const auto& [count, how_many] : tensors)
      if (how_many >= most) most = how_many, usual = count;
    return usual;
  }

  // The last step may have been cut in the middle.
  bool is_gradient(const TensorOperation& operation, std::uint64_t count) const {
    const std::uint64_t own = tensors_[operation.tensor].occurrences;
    return operation.operation == "all_reduce" && own <= count && own + 1 >= count;
  }

  std::map<double, std::size_t> tensor_of_;  // by pid
  std::deque<Tensor> tensors_;
  std::deque<TensorOperation> operations_;
  std::map<std::string, ActivityTimes> activities_;
  std::array<std::size_t, kKindCount> counts_ = {};
  int ranks_ = 0;
};

// assumed: in a job's first steps connections are made.
constexpr std::uint64_t kHorovodFirstSteps = 3;

// Operations of fused tensors, which lie over one another.
struct FusedTensors {
  const TensorOperation* first;
  double begin_us, end_us;  // of the library's part: after the last begin, before the first end
  double last_end_us, bytes;
  std::size_t tensors;
};

void add_operation(const Timeline& timeline, const FusedTensors& group, ImportedFile& file) {
  if (std::isnan(group.bytes)) return file.ignore("operations on tensors of unknown size");
  if (!(group.end_us > group.begin_us)) return file.ignore("collectives with a time of 0");
  file.add(
      {.quantity = "time_s",
       .operation = group.first->operation,
       .workers = timeline.ranks(),
       .bytes = group.bytes,
       .value = (group.end_us - group.begin_us) / kTicks_per_s,
       .labels = {{"library", printable(group.first->library)}, {"tensors", std::to_string(group.tensors)}}});
}

void add_operations(const Timeline& timeline, ImportedFile& file) {
  std::vector<const TensorOperation*> all;
  for (const TensorOperation& operation : timeline.operations())
    if (operation.end_us >= operation.begin_us) all.push_back(&operation);
  std::ranges::stable_sort(
      all, [](const TensorOperation* a, const TensorOperation* b) { return a->begin_us < b->begin_us; });
  std::vector<FusedTensors> fused;
  for (const TensorOperation* each : all) {
    if (!fused.empty() && each->begin_us < fused.back().last_end_us &&
        each->library == fused.back().first->library) {
      FusedTensors& group = fused.back();
      group.begin_us = std::max(group.begin_us, each->begin_us);
      group.end_us = std::min(group.end_us, each->end_us);
      group.last_end_us = std::max(group.last_end_us, each->end_us);
      group.bytes += each->bytes;
      ++group.tensors;
    } else {
      fused.push_back({each, each->begin_us, each->end_us, each->end_us, each->bytes, 1});
    }
  }
  for (const FusedTensors& group : fused) add_operation(timeline, group, file);
}

void add_activities(const Timeline& timeline, ImportedFile& file) {
  for (const auto& [name, times] : timeline.activities())
    file.add({.quantity = "activity_s",
              .workers = timeline.ranks(),
              .value = times.mean_us / kTicks_per_s,
              .samples = times.count,
              .labels = {{"activity", printable(name)}}});
}

void add_steps(const Timeline& timeline, ImportedFile& file) {
  const std::vector<Step> steps = timeline.steps(file);
  const bool longer = steps.size() > kHorovodFirstSteps;
  for (std::size_t k = 1; k < steps.size(); ++k) {
    if (longer && k < kHorovodFirstSteps) {
      file.understand("first steps of the job, which are warm-up; left out");
      continue;
    }
    file.add({.quantity = "step_s",
              .workers = timeline.ranks(),
              .value = (steps[k].end_us - steps[k - 1].end_us) / kTicks_per_s,
              .labels = {{"step", std::to_string(k)}}});
    for (const auto& [rank, ready_us] : steps[k].ready_us) {
      const double compute_s = (ready_us - steps[k - 1].end_us) / kTicks_per_s;
      if (compute_s >= 0)
        file.steps.push_back({rank, k, compute_s});
      else
        file.ignore("steps whose gradients are ready before the previous step has ended");
    }
  }
}

void read_horovod(Input& input, ImportedFile& file) {
  Timeline timeline;
  const TraceRead trace = read_trace_events(input, file, timeline, true);
  if (trace.events == 0) file.ignore("files without events");
  timeline.finish(file);
  add_operations(timeline, file);
  add_activities(timeline, file);
  add_steps(timeline, file);
  if (auto network = timeline.network(kHorovodFirstSteps, file)) file.workload = std::move(*network);
}

bool is_horovod(std::string_view head) {
  return first_character(head) == '[' && head.find("\"NEGOTIATE_") != std::string_view::npos;
}

}  // namespace

std::vector<ImportFormat> horovod() {
  return {{{.name = "horovod",
            .summary = "the timeline of Horovod (HOROVOD_TIMELINE)",
            .citation = "https://github.com/horovod/horovod, horovod/common/timeline.cc"},
           is_horovod,
           make_importer<FileImporter<read_horovod>>}};
}

}  // namespace simsgd::importers
