// What a rank has under way over MPI goes on only while somebody looks after it: here everybody who sleeps or
// waits does.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/run_clock.hpp"
#include "measure/waiting.hpp"
#include "sim/handle.hpp"
#include "sim/observer.hpp"

namespace simsgd {

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
  void share_cores(MPI_Comm world);
  /// Between two looks at something, waited for so long.
  void rest(double waited_s, bool under_way) const;
  void begin_step(std::uint64_t step) { step_ = step; }  ///< for the sentence

  void progress();
  /// Returns when `complete` holds. `under_way`: bytes may be on their way. Throws RunError, which says
  /// `what` was waited for.
  void wait_until(const Condition& complete, const Condition& under_way,
                  const std::function<std::string()>& what);
  /// Until that time of the run's clock.
  void sleep_until(double time_s);
  bool idle() const;  ///< nothing is under way, and nobody else may ask anything of this rank

 private:
  void check_end() const;
  void look();

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
