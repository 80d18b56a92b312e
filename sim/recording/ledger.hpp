// The ledger of one worker: every second of its main thread is booked to exactly one activity, so that the
// breakdown sums to the step time. Used by every implementation of Worker.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/record.hpp"

namespace simsgd {

/// An operation as one rank saw it on one channel.
struct OperationSpan {
  double start_s = 0;  ///< this rank was ready and the channel free
  double go_s = 0;     ///< the last one that it depends on was ready
  double end_s = 0;
  double host_before_s = 0;  ///< host work right after start_s
  double host_after_s = 0;   ///< host work right before end_s
  Traffic traffic = Traffic::control;
};

class Ledger {
 public:
  /// The main thread did `activity` for `seconds`.
  void book(Activity activity, double seconds) {
    record_.activity_s[static_cast<std::size_t>(activity)] += seconds;
  }

  /// An operation became known that will end, or has ended, on `channel`.
  void operation(std::int32_t channel, const OperationSpan& span);

  /// The main thread waited from `from_s` to `to_s` for an operation of `channel`. Books each part to what
  /// the channel was doing: communication (by traffic), host work, or nothing yet (wait).
  void wait(std::int32_t channel, double from_s, double to_s);

  /// Computing took `seconds` longer because of communication that went on beside it.
  void slowed(Traffic traffic, double seconds) { expose(traffic, seconds); }

  void sent(Traffic traffic, double bytes) { record_.bytes_sent[static_cast<std::size_t>(traffic)] += bytes; }
  void staleness(double steps);
  void used_samples(double samples) { record_.samples += samples; }

  void begin_step(double now_s);
  /// Ends the step and returns its duration.
  double end_step(double now_s);
  /// The run was over at `end_s`: a step that has begun and not ended does not count. Ages that were noted
  /// do: what others used of this worker meanwhile is theirs.
  void cut(double end_s);

  const WorkerRecord& record() const { return record_; }

 private:
  // Operations of a channel that the worker has not waited past, in the order in which they became known. A
  // queue in a vector: it is empty most of the time, and then in the cache.
  struct Lane {
    std::int32_t channel = 0;
    std::size_t first = 0;
    std::vector<OperationSpan> spans;

    bool empty() const { return first == spans.size(); }
    void forget_until(double time_s);
  };
  Lane& lane_of(std::int32_t channel);
  void expose(Traffic traffic, double seconds);
  void handle(Traffic traffic, double seconds);

  WorkerRecord record_;
  double step_begin_s_ = 0;
  bool in_step_ = false;
  WorkerTotals step_begin_;  // those of then
  std::vector<Lane> lanes_;  // few
};

/// An even sample of the durations of all steps of all workers, at most 2^20 of them: once full, every second
/// one is dropped and the stride doubles.
class StepTimes {
 public:
  void add(double seconds);
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
  std::uint64_t stride_ = 1, seen_ = 0;
};

}  // namespace simsgd
