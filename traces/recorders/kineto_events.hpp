// Takes the events of one Kineto file: what each of them is, and what is kept of it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "traces/imported_file.hpp"
#include "traces/names.hpp"
#include "traces/recorders/kineto_recording.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd::kineto {

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

}  // namespace simsgd::kineto
