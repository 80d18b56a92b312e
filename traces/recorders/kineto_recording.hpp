// What one worker's part of a Kineto trace holds, event by event, and what becomes of it: its steps, its
// collectives, and the network that it trains.
//
// A kernel belongs to the step, the pass and the layer during which the host launched it (`correlation`), not
// to those during which it ran. The backward pass is what threads launch on which operators of autograd
// ("...Backward...") run; a "Sequence number" ties such an operator to the one of the forward pass.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/imported_file.hpp"
#include "traces/recorders/collective_records.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd::kineto {

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

}  // namespace simsgd::kineto
