// Chrome's trace events, as Kineto (PyTorch's profiler), Horovod and our own timelines write them, one after
// the other: {"traceEvents": [...]} or the list alone.
//   "Trace Event Format", Google,
//   https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "traces/imported_file.hpp"
#include "traces/reading/input.hpp"

namespace simsgd {

/// A pid or a tid, which may be a number or a text; a text that is a number is one.
struct TraceId {
  double number = kNotGiven;
  std::string text;
  bool operator==(const TraceId& other) const {
    return text == other.text && (number == other.number || !text.empty());
  }
};

/// What is read of an event; what it does not say is empty or kNotGiven.
struct TraceEvent {
  char phase = 0;  ///< "ph": X a span, B and E its ends, M, i, C, s, t, f; 0: none
  std::string category, name;
  TraceId pid, tid;
  double ts_us = kNotGiven, dur_us = kNotGiven;

  // What "args" holds.
  double external_id = kNotGiven, correlation = kNotGiven, sequence_number = kNotGiven;
  double seq = kNotGiven, group_size = kNotGiven, in_elements = kNotGiven, out_elements = kNotGiven;
  double step = kNotGiven, micro_batch = kNotGiven, chunk = kNotGiven;  ///< of ByteDance's timelines
  double outputs = kNotGiven;  ///< entries of its first output; of execution traces alone
  std::string collective, dtype, group_name, group_ranks, shape, called;  ///< called: args/name
  std::vector<double> sizes;                                              ///< "Input Dims", all in a row
  std::vector<std::size_t> size_ends;                                     ///< of each input in `sizes`
  /// The sizes of input `i`; empty where there is none, or it is not a tensor.
  std::vector<double> input(std::size_t i) const;

  void clear();
};

/// What stands beside the events; complete at the end of the file only.
struct TraceHead {
  std::string backend;  ///< of distributedInfo
  double rank = kNotGiven, world_size = kNotGiven;
  std::string device;  ///< the first of deviceProperties
};

/// Who takes the events, in the order of the file.
class TraceSink {
 public:
  TraceSink() = default;
  virtual ~TraceSink() = default;
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;
  /// `head`: what stood before the event.
  virtual void event(const TraceEvent& event, const TraceHead& head) = 0;
};

struct TraceRead {
  TraceHead head;
  std::size_t events = 0;
  bool has_list = false;  ///< of events
  bool cut = false;       ///< it ends too early
};

/// Reads all of `input`; what was mended or is missing is counted in `file`. `may_be_open`: a list whose end
/// is not written yet is none that was cut. Throws ConfigError where it is not JSON.
TraceRead read_trace_events(Input& input, ImportedFile& file, TraceSink& sink, bool may_be_open = false);

}  // namespace simsgd
