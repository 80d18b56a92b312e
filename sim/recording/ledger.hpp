// The ledger of one worker: every second of its main thread is booked to exactly one activity, so that the
// breakdown sums to the step time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/observer.hpp"
#include "sim/record.hpp"

namespace simsgd {

class Ledger {
 public:
  /// `may_be_cut`: a run that ends within steps cuts them off.
  explicit Ledger(bool may_be_cut) : may_be_cut_(may_be_cut) {}

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
  /// The worker's method returned: what it waited for after its last step is part of the run.
  void end_run(double now_s) { record_.end_s = now_s; }
  /// The run was over at `end_s`: a step that has begun and not ended does not count, and what completed ones
  /// have on its way only until then. Ages that were noted count: what others used of this worker meanwhile
  /// is theirs.
  void cut(double end_s);

  const WorkerRecord& record() const { return record_; }
  /// When nothing more comes.
  WorkerRecord take_record() { return std::move(record_); }

 private:
  // Operations of a channel that the worker has not waited past, in the order in which they became known. A
  // queue in a vector: it is empty most of the time, and then in the cache.
  struct Lane {
    std::int32_t channel = 0;
    struct Known {
      OperationSpan span;
      std::uint64_t in_step = 0;
    };
    std::size_t first = 0;
    std::vector<Known> spans;

    bool empty() const { return first == spans.size(); }
    void forget_until(double time_s);
  };
  Lane& lane_of(std::int32_t channel);
  static double transfer_s(const OperationSpan& span);
  double counted_first(double from_s, double to_s, Traffic traffic);
  void expose(Traffic traffic, double seconds);
  void handle(Traffic traffic, double seconds);

  WorkerRecord record_;
  double step_begin_s_ = 0;
  double waited_s_ = 0, straggled_s_ = 0;  // by then
  bool in_step_ = false, may_be_cut_;
  std::vector<WorkerTotals> step_begin_;  // all of then, where it may be cut; many ledgers are not
  std::vector<Lane> lanes_;               // few
  // When messages of a kind were on their way; by their ends, those of one kind apart. Old ones are
  // forgotten.
  struct OnTheWay {
    double from_s, to_s;
    Traffic traffic;
  };
  std::vector<OnTheWay> on_the_way_;
};

/// An even sample of the durations of all steps of all workers, at most 2^20 of them: once full, every second
/// one is dropped and the stride doubles. The longest is in it whatever was dropped.
class StepTimes {
 public:
  void add(double seconds);
  /// When nothing more comes.
  std::vector<double> take_values();

 private:
  std::vector<double> values_;
  double longest_s_ = 0;
  std::uint64_t stride_ = 1, seen_ = 0;
};

/// The ledgers of ranks `first`, `first` + 1, ... of a run.
class LedgerBook final : public Observer {
 public:
  LedgerBook(int first, int count, bool may_be_cut)
      : first_(first), ledgers_(static_cast<std::size_t>(count), Ledger(may_be_cut)) {}

  Ledger& of(int rank) { return ledgers_[static_cast<std::size_t>(rank - first_)]; }
  StepTimes& step_times() { return step_times_; }

  void booked(int rank, Activity activity, double seconds) override { of(rank).book(activity, seconds); }
  void waited(int rank, std::int32_t channel, double from_s, double to_s) override {
    of(rank).wait(channel, from_s, to_s);
  }
  void slowed(int rank, Traffic traffic, double seconds) override { of(rank).slowed(traffic, seconds); }
  void operation(int rank, std::int32_t channel, const OperationSpan& span) override {
    of(rank).operation(channel, span);
  }
  void sent(int rank, Traffic traffic, double bytes) override { of(rank).sent(traffic, bytes); }
  void step_began(int rank, std::uint64_t, double now_s) override { of(rank).begin_step(now_s); }
  void step_ended(const StepEnd& end) override { step_ended_by(1, end); }
  /// So many ranks do what that one does.
  void step_ended_by(std::size_t ranks, const StepEnd& end) {
    const double seconds = of(end.rank).end_step(end.end_s);
    for (; ranks > 0; --ranks) step_times_.add(seconds);
  }
  void gradient_used(int rank, std::uint64_t, const Tensor&, double samples) override {
    of(rank).used_samples(samples);
  }
  void staleness(int rank, double steps) override { of(rank).staleness(steps); }

 private:
  int first_;
  std::vector<Ledger> ledgers_;
  StepTimes step_times_;
};

}  // namespace simsgd
