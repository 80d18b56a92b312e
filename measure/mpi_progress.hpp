// What a rank has under way over MPI goes on only while somebody looks after it: here everybody who sleeps or
// waits does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "measure/run_clock.hpp"

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

  /// Gives up where somebody waits longer than `patience_s`: nobody can see that nothing will ever happen.
  MpiProgress(int rank, const RunClock& clock, double patience_s)
      : rank_(rank), clock_(clock), patience_s_(patience_s) {}

  void attend(Part& part) { parts_.push_back(&part); }
  void begin_step(std::uint64_t step) { step_ = step; }  ///< for the sentence

  void progress();
  /// Returns when `complete` holds. `under_way`: bytes may be on their way. Throws RunError, which says
  /// `what` was waited for.
  void wait_until(const Condition& complete, const Condition& under_way,
                  const std::function<std::string()>& what);
  /// Until that time of the run's clock.
  void sleep_until(double time_s);

 private:
  bool idle() const;

  int rank_;
  const RunClock& clock_;
  double patience_s_;
  std::uint64_t step_ = 0;
  std::vector<Part*> parts_;
};

}  // namespace simsgd
