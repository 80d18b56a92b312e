// What a rank has under way over MPI goes on only while somebody looks after it: here everybody who sleeps or
// waits does.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/packing.hpp"
#include "measure/waiting.hpp"
#include "sim/base/errors.hpp"
#include "sim/handle.hpp"
#include "sim/job.hpp"
#include "sim/observer.hpp"

namespace simsgd {

// How often a sleeping rank looks after what it has under way, in case that no socket tells.
inline constexpr double kLookEvery_s = 100e-6;
// MPI connects two ranks when they first talk.
inline void talk_to_all(MPI_Comm world) {
  int size = 0;
  MPI_Comm_size(world, &size);
  std::vector<MPI_Request> requests;
  for (int other = 0; other < size; ++other) {
    MPI_Irecv(nullptr, 0, MPI_BYTE, other, 0, world, &requests.emplace_back());
    MPI_Isend(nullptr, 0, MPI_BYTE, other, 0, world, &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

/// What the roles of a real rank have in common.
struct RealRank {
  MPI_Comm world;
  int rank = 0;
  const Job& job;
  Executor& executor;
  const Observers& observers;
  const RunClock& clock;
  PackedSizes sizes = PackedSizes::values;  ///< workload where computing is emulated

  bool emulates() const { return sizes == PackedSizes::workload; }
};

class MpiProgress {
 public:
  /// Something that has operations under way.
  class Part {
   public:
    virtual ~Part() = default;
    virtual void progress() = 0;  ///< does whatever can be done now
    virtual bool idle() const = 0;
  };
  using Condition = std::function<bool()>;

  /// The run is over, wherever this rank is: waiting ends with it. What a run throws away.
  struct RunIsOver {};

  /// Gives up where somebody waits longer than `patience_s`: nobody can see that nothing will ever happen.
  MpiProgress(int rank, const RunClock& clock, double patience_s)
      : rank_(rank), clock_(clock), patience_s_(patience_s) {}

  void attend(Part& part) { parts_.push_back(&part); }
  /// Whoever waits or sleeps while `over` holds is told by RunIsOver. Empty: nobody.
  void end_when(Condition over) { over_ = std::move(over); }
  /// There are more threads than cores: whoever waits sleeps, until MPI's sockets have something.
  /// Collective.
  void share_cores(MPI_Comm world) {
    waiting_ = Waiting(true);
    talk_to_all(world);
    waiting_.look_for_sockets();
  }
  /// Between two looks at something, waited for so long.
  /// Where ranks share cores whoever polls takes the core from somebody who computes. There everybody sleeps,
  /// and without sockets what is under way takes up to a nap longer.
  void rest(double waited_s, bool under_way) const {
    if (!waiting_.sleeps()) return simsgd::rest(waited_s, under_way);
    constexpr double kShare = 0.02, kYields_s = 100e-6, kShortest_s = 50e-6, kUnderWay_s = 100e-6,
                     kLongest_s = 500e-6;
    if (waited_s < kYields_s)
      std::this_thread::yield();
    else
      waiting_.sleep(std::clamp(kShare * waited_s, kShortest_s, under_way ? kUnderWay_s : kLongest_s));
  }

  void begin_step(std::uint64_t step) { step_ = step; }  ///< for the sentence

  void progress() {
    for (Part* part : parts_) part->progress();
  }
  /// Returns when `complete` holds. `under_way`: bytes may be on their way. Throws RunError, which says
  /// `what` was waited for.
  void wait_until(const Condition& complete, const Condition& under_way,
                  const std::function<std::string()>& what) {
    const double begin_s = clock_.wall_s();
    while (!complete()) {
      const double waited_s = clock_.wall_s() - begin_s;
      if (waited_s > patience_s_)
        throw RunError(fmt::format(
            "Rank {} has waited {:.0f} s for {} in step {}, and gave up: the algorithm's ranks do not agree on what they exchange, or another rank is stuck.",
            rank_, waited_s, what(), step_));
      check_end();
      rest(waited_s, under_way());
      look();
    }
  }

  /// Until that time of the run's clock.
  void sleep_until(double time_s) {
    for (double left_s = 0; (left_s = time_s - clock_.now()) > 0;) {
      if (!idle()) look();
      check_end();
      if (idle())
        nap(left_s);
      else if (waiting_.sleeps())
        waiting_.sleep(std::min(left_s, kLookEvery_s));
      else
        nap(std::min(left_s, kLookEvery_s));
    }
  }

  /// nothing is under way, and nobody else may ask anything of this rank
  bool idle() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const Part* part) { return part->idle(); });
  }

 private:
  void check_end() const {
    if (over_ && over_()) throw RunIsOver();
  }
  // After a sleep what MPI hears of in one look, such as the end of a message, is acted upon in the next.
  void look() {
    progress();
    if (waiting_.sleeps()) progress();
  }

  int rank_;
  const RunClock& clock_;
  double patience_s_;
  std::uint64_t step_ = 0;
  std::vector<Part*> parts_;
  Condition over_;
  Waiting waiting_;
};

struct Ongoing {
  std::shared_ptr<Pending> pending;  ///< shared with the algorithm's handle
  OperationSpan span{};              ///< filled as it happens
  bool came = false;                 ///< go_s is known

  /// Somebody that it depends on has come: bytes may be on their way.
  void somebody_came() { pending->under_way = true; }
  /// The last one that it depends on came at `time_s` by the run's clock, which may be seen much later:
  /// before that it is waiting, from then on only bytes are missing.
  void others_came(double time_s) {
    if (!came) span.go_s = std::max(span.start_s, time_s);
    came = true;
    somebody_came();
  }
  /// It is over; what it gives is to be delivered before it counts as complete.
  void ended(double now_s) {
    others_came(now_s);
    span.go_s = std::min(span.go_s, now_s);  // clocks of several machines differ
    span.end_s = now_s;
  }
};

}  // namespace simsgd
