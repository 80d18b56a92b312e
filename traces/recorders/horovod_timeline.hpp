// What Horovod's timeline tells of each tensor, operation by operation, and of the steps that they make up.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/imported_file.hpp"
#include "traces/recorders/trace_events.hpp"

namespace simsgd::horovod {

/// One operation of one tensor.
struct Operation {
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

class Timeline final : public TraceSink {
 public:
  void event(const TraceEvent& event, const TraceHead& head) override;
  /// After the last event: counts.
  void finish(ImportedFile& file);

  const std::deque<Operation>& operations() const { return operations_; }
  const std::map<std::string, ActivityTimes>& activities() const { return activities_; }
  int ranks() const { return ranks_; }
  /// A step reduces each gradient once: those tensors that are reduced as often as most are.
  std::vector<Step> steps(ImportedFile& file) const;
  /// Tensors as layers, from the steps from `first` on.
  std::optional<RecordedWorkload> network(std::uint64_t first, const ImportedFile& file) const;

 private:
  struct Open {
    std::string name;
    double begin_us;
  };
  struct Tensor {
    std::string name, shape;
    std::vector<Open> open;
    Operation now;
    std::uint64_t occurrences = 0;
  };

  /// Over steps: by tensor, when its gradient was ready after the one before it, and its place in that order;
  /// and when the first of a step was, after the step before.
  struct ReadyTimes {
    std::map<std::size_t, std::vector<double>> since_us, places;
    std::vector<double> before_us;
  };

  ReadyTimes ready_times(std::uint64_t first, std::uint64_t count) const;
  void begin(const TraceEvent& event, Tensor& tensor);
  void end(const TraceEvent& event, Tensor& tensor);
  void close(const TraceEvent& event, Tensor& tensor);
  std::uint64_t usual_count() const;
  bool is_gradient(const Operation& operation, std::uint64_t count) const;

  std::map<double, std::size_t> tensor_of_;  // by pid
  std::deque<Tensor> tensors_;
  std::deque<Operation> operations_;
  std::map<std::string, ActivityTimes> activities_;
  std::array<std::size_t, 12> counts_ = {};
  int ranks_ = 0;
};

}  // namespace simsgd::horovod
